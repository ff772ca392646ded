CREATE TABLE user (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE COLLATE NOCASE,
    email TEXT NOT NULL UNIQUE,
    created_at DATETIME NOT NULL,
    karma INTEGER NOT NULL DEFAULT 0,
    banned INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE "group" (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    private INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE group_user (
    group_id INTEGER NOT NULL REFERENCES "group" (id),
    user_id INTEGER NOT NULL REFERENCES user (id),
    role TEXT NOT NULL DEFAULT 'member',
    PRIMARY KEY (group_id, user_id)
) WITHOUT ROWID;
CREATE TABLE thread (
    id INTEGER PRIMARY KEY,
    group_id INTEGER NOT NULL REFERENCES "group" (id),
    user_id INTEGER NOT NULL REFERENCES user (id),
    title TEXT NOT NULL,
    created_at DATETIME NOT NULL,
    locked INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE post (
    id INTEGER PRIMARY KEY,
    thread_id INTEGER NOT NULL REFERENCES thread (id),
    user_id INTEGER NOT NULL REFERENCES user (id),
    reply_to INTEGER REFERENCES post (id),
    body TEXT NOT NULL,
    created_at DATETIME NOT NULL
);
CREATE TABLE "like" (
    post_id INTEGER NOT NULL REFERENCES post (id),
    user_id INTEGER NOT NULL REFERENCES user (id),
    created_at DATETIME,
    PRIMARY KEY (post_id, user_id)
);
CREATE TABLE tag (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);
CREATE TABLE thread_tag (
    thread_id INTEGER NOT NULL REFERENCES thread (id),
    tag_id INTEGER NOT NULL REFERENCES tag (id),
    PRIMARY KEY (thread_id, tag_id)
);

INSERT INTO user VALUES
    (1, 'otter', 'otter@mail.test', '2020-01-01 10:00:00', 120, 0),
    (2, 'Pike', 'pike@mail.test', '2021-05-12 18:20:00', 15, 0),
    (3, 'quail', 'quail@mail.test', '2021-11-03 07:45:00', -4, 1),
    (4, 'raven', 'raven@post.test', '2023-02-17 22:10:00', 60, 0),
    (5, 'stoat', 'stoat@post.test', '2024-04-30 13:00:00', 0, 0);
INSERT INTO "group" VALUES (1, 'Gardening', 0), (2, 'Bicycles', 0), (3, 'Moderators', 1);
INSERT INTO group_user VALUES
    (1, 1, 'owner'), (1, 2, 'member'), (1, 4, 'member'), (2, 2, 'owner'), (2, 3, 'member'), (3, 1, 'member');
INSERT INTO thread VALUES
    (1, 1, 1, 'When to prune roses?', '2024-03-01 09:00:00', 0),
    (2, 1, 4, 'Slugs again', '2024-04-20 20:30:00', 0),
    (3, 2, 2, 'Best oil for chains', '2024-04-22 08:15:00', 1),
    (4, 3, 1, 'Rules for 2024', '2024-01-02 12:00:00', 0);
INSERT INTO post VALUES
    (1, 1, 1, NULL, 'Mine are still asleep.', '2024-03-01 09:00:00'),
    (2, 1, 2, 1, 'Wait for the forsythia.', '2024-03-01 11:30:00'),
    (3, 1, 4, 2, 'Seconded!', '2024-03-02 08:00:00'),
    (4, 2, 4, NULL, 'They ate my lettuce.', '2024-04-20 20:30:00'),
    (5, 2, 1, 4, 'Try copper tape.', '2024-04-21 07:10:00'),
    (6, 3, 2, NULL, 'Wax or oil?', '2024-04-22 08:15:00'),
    (7, 3, 3, 6, 'Buy my 100% secret oil', '2024-04-22 09:00:00'),
    (8, 1, 1, 3, 'Thanks, both.', '2024-03-03 10:00:00');
INSERT INTO "like" VALUES
    (2, 1, '2024-03-01 12:00:00'), (2, 4, '2024-03-02 08:01:00'), (5, 4, '2024-04-21 08:00:00'),
    (3, 1, NULL), (6, 1, '2024-04-23 10:00:00');
INSERT INTO tag VALUES (1, 'plants'), (2, 'pests'), (3, 'repair'), (4, 'meta');
INSERT INTO thread_tag VALUES (1, 1), (2, 1), (2, 2), (3, 3);
