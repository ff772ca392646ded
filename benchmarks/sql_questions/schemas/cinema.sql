CREATE TABLE film (
    film_id INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    director TEXT,
    year INTEGER NOT NULL,
    minutes INTEGER,
    rating TEXT,
    language TEXT DEFAULT 'English'
);
CREATE TABLE film_genre (
    film_id INTEGER NOT NULL REFERENCES film (film_id),
    genre TEXT NOT NULL,
    PRIMARY KEY (film_id, genre)
);
CREATE TABLE screen (
    screen_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    rows INTEGER NOT NULL,
    seats_per_row INTEGER NOT NULL,
    seats INTEGER AS (rows * seats_per_row)
);
CREATE TABLE showing (
    showing_id INTEGER PRIMARY KEY,
    film_id INTEGER NOT NULL REFERENCES film (film_id),
    screen_id INTEGER NOT NULL REFERENCES screen (screen_id),
    starts_at DATETIME NOT NULL,
    price REAL NOT NULL,
    UNIQUE (screen_id, starts_at)
);
CREATE TABLE customer (
    customer_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    "card no" TEXT UNIQUE,
    points INTEGER DEFAULT 0
);
CREATE TABLE ticket (
    showing_id INTEGER NOT NULL REFERENCES showing (showing_id),
    row INTEGER NOT NULL,
    seat INTEGER NOT NULL,
    customer_id INTEGER REFERENCES customer (customer_id),
    discount REAL NOT NULL DEFAULT 0,
    PRIMARY KEY (showing_id, row, seat)
);

INSERT INTO film VALUES
    (1, 'The Lantern Keeper', 'Ida Moreau', 2021, 118, '12', 'French'),
    (2, 'Gravel', 'Stan Ivers', 2023, 97, '16', 'English'),
    (3, 'Little Comet', 'Ida Moreau', 2023, 84, 'U', 'French'),
    (4, 'The Long Ferry', NULL, 1978, 141, '12', 'English'),
    (5, 'Orbit of Dust', 'Kenji Mori', 2024, NULL, NULL, 'Japanese');
INSERT INTO film_genre VALUES
    (1, 'drama'), (1, 'mystery'), (2, 'thriller'), (3, 'animation'), (3, 'family'), (4, 'drama'), (5, 'science fiction');
INSERT INTO screen (screen_id, name, rows, seats_per_row) VALUES
    (1, 'Grand', 20, 18), (2, 'Studio', 8, 10), (3, 'Cellar', 5, 6);
INSERT INTO showing VALUES
    (1, 1, 1, '2024-09-06 20:00', 12), (2, 2, 2, '2024-09-06 22:15', 10.5), (3, 3, 1, '2024-09-07 14:00', 8),
    (4, 1, 2, '2024-09-07 18:00', 11), (5, 4, 3, '2024-09-08 17:00', 7), (6, 3, 1, '2024-09-08 14:00', 8);
INSERT INTO customer VALUES
    (1, 'Ruben', 'K-77', 120), (2, 'Sally', NULL, 0), (3, 'Theo', 'K-80', 45), (4, 'Uma', 'K-81', NULL);
INSERT INTO ticket VALUES
    (1, 5, 9, 1, 0), (1, 5, 10, 1, 0.5), (1, 12, 1, 2, 0), (2, 1, 1, 3, 0), (3, 3, 4, NULL, 0.25),
    (3, 3, 5, NULL, 0.25), (4, 2, 2, 1, 0), (5, 1, 1, 3, 0.1);
