CREATE TABLE team (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    city TEXT NOT NULL,
    founded INTEGER
);
CREATE TABLE player (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    team_id INTEGER REFERENCES team (id),
    position TEXT,
    shirt INTEGER,
    born DATE,
    UNIQUE (team_id, shirt)
);
CREATE TABLE season (
    year INTEGER PRIMARY KEY,
    starts DATE NOT NULL,
    ends DATE NOT NULL
);
CREATE TABLE "match" (
    id INTEGER PRIMARY KEY,
    season INTEGER NOT NULL REFERENCES season (year),
    played_on DATE NOT NULL,
    home_id INTEGER NOT NULL REFERENCES team (id),
    away_id INTEGER NOT NULL REFERENCES team (id),
    home_goals INTEGER,
    away_goals INTEGER,
    attendance INTEGER,
    CHECK (home_id <> away_id)
);
CREATE TABLE goal (
    match_id INTEGER NOT NULL REFERENCES "match" (id),
    minute INTEGER NOT NULL,
    player_id INTEGER NOT NULL REFERENCES player (id),
    own_goal INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (match_id, minute, player_id)
);

INSERT INTO team VALUES
    (1, 'Harbour United', 'Porthaven', 1902), (2, 'Rovers 09', 'Millbrook', 1909),
    (3, 'Stars', 'Porthaven', 1956), (4, 'Albion', 'Kingsley', NULL);
INSERT INTO player VALUES
    (1, 'Sam Reyes', 1, 'forward', 9, '1998-04-12'), (2, 'Tom Adeyemi', 1, 'goalkeeper', 1, '1991-10-01'),
    (3, 'Uwe Klein', 2, 'midfielder', 8, '2001-01-25'), (4, 'Vik Shah', 2, 'forward', 11, '1995-08-30'),
    (5, 'Will Strand', 3, 'defender', 4, NULL), (6, 'Xavi Romo', 3, 'forward', 9, '2003-06-06'),
    (7, 'Yuri Blok', 4, 'midfielder', 10, '1999-12-24'), (8, 'Zed Cole', NULL, 'forward', 7, '1988-02-29');
INSERT INTO season VALUES
    (2022, '2022-08-01', '2023-05-31'), (2023, '2023-08-01', '2024-05-31'), (2024, '2024-08-01', '2025-05-31');
INSERT INTO "match" VALUES
    (1, 2022, '2022-09-03', 1, 2, 2, 1, 8200), (2, 2022, '2022-09-10', 3, 1, 0, 0, 6100),
    (3, 2023, '2023-08-19', 2, 1, 1, 1, 5400), (4, 2023, '2023-09-02', 1, 3, 3, 1, 9800),
    (5, 2023, '2023-09-16', 3, 2, 2, 0, NULL), (6, 2023, '2023-10-07', 4, 1, 1, 0, 3000),
    (7, 2024, '2024-08-24', 2, 4, NULL, NULL, NULL);
INSERT INTO goal VALUES
    (1, 12, 1, 0), (1, 50, 1, 0), (1, 77, 4, 0), (3, 31, 4, 0), (3, 88, 1, 0), (4, 5, 1, 0),
    (4, 44, 5, 1), (4, 60, 1, 0), (4, 90, 6, 0), (5, 20, 6, 0), (5, 71, 6, 0), (6, 15, 7, 0);
