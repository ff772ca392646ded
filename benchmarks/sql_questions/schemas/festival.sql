CREATE TABLE edition (
    year INTEGER PRIMARY KEY,
    starts DATE NOT NULL,
    ends DATE NOT NULL,
    motto TEXT
);
CREATE TABLE venue (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    capacity INTEGER,
    indoor INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE act (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    country TEXT,
    genre TEXT,
    fee NUMERIC
);
CREATE TABLE slot (
    year INTEGER NOT NULL REFERENCES edition (year),
    venue_id INTEGER NOT NULL REFERENCES venue (id),
    starts DATETIME NOT NULL,
    ends DATETIME NOT NULL,
    act_id INTEGER REFERENCES act (id),
    PRIMARY KEY (venue_id, starts)
);
CREATE TABLE ticket_type (
    id INTEGER PRIMARY KEY,
    year INTEGER NOT NULL REFERENCES edition (year),
    name TEXT NOT NULL,
    price REAL NOT NULL,
    available INTEGER NOT NULL,
    UNIQUE (year, name)
);
CREATE TABLE visitor (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    postcode TEXT,
    birth_year INTEGER
);
CREATE TABLE sale (
    id INTEGER PRIMARY KEY,
    ticket_type_id INTEGER NOT NULL REFERENCES ticket_type (id),
    visitor_id INTEGER REFERENCES visitor (id),
    sold_on DATE NOT NULL,
    quantity INTEGER NOT NULL
);
CREATE TABLE volunteer (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    buddy_id INTEGER REFERENCES volunteer (id)
);
CREATE TABLE job (
    code TEXT PRIMARY KEY,
    title TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE shift (
    volunteer_id INTEGER NOT NULL REFERENCES volunteer (id),
    job TEXT NOT NULL REFERENCES job (code),
    "start" DATETIME NOT NULL,
    "end" DATETIME NOT NULL,
    PRIMARY KEY (volunteer_id, "start")
);
CREATE TABLE sponsor (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    country TEXT
);
CREATE TABLE sponsorship (
    sponsor_id INTEGER NOT NULL REFERENCES sponsor (id),
    year INTEGER NOT NULL REFERENCES edition (year),
    amount NUMERIC NOT NULL,
    "level" TEXT,
    PRIMARY KEY (sponsor_id, year)
);
CREATE VIEW income AS
SELECT t.year AS year, SUM(s.quantity * t.price) AS tickets
FROM sale AS s JOIN ticket_type AS t ON t.id = s.ticket_type_id
GROUP BY t.year;

INSERT INTO edition VALUES
    (2022, '2022-07-15', '2022-07-17', 'Back again'), (2023, '2023-07-14', '2023-07-16', NULL),
    (2024, '2024-07-12', '2024-07-14', 'Twenty summers');
INSERT INTO venue VALUES (1, 'Main Stage', 12000, 0), (2, 'Barn', 800, 1), (3, 'Lake', NULL, 0), (4, 'Chapel', 150, 1);
INSERT INTO act VALUES
    (1, 'The Copper Kites', 'Canada', 'rock', 40000), (2, 'Nachtlicht', 'Germany', 'electronic', 25000),
    (3, 'Trio Alba', 'Italy', 'jazz', 3000), (4, 'Brass Attack', 'Belgium', 'brass', 4500),
    (5, 'Local Heroes', NULL, 'rock', NULL);
INSERT INTO slot VALUES
    (2023, 1, '2023-07-14 21:00', '2023-07-14 22:30', 1), (2023, 2, '2023-07-15 18:00', '2023-07-15 19:00', 3),
    (2024, 1, '2024-07-12 21:30', '2024-07-12 23:00', 2), (2024, 1, '2024-07-12 19:00', '2024-07-12 20:15', 5),
    (2024, 2, '2024-07-13 17:00', '2024-07-13 18:00', 3), (2024, 3, '2024-07-13 15:00', '2024-07-13 15:45', 4),
    (2024, 1, '2024-07-13 21:30', '2024-07-13 23:15', 1), (2024, 2, '2024-07-14 16:00', '2024-07-14 17:00', NULL);
INSERT INTO ticket_type VALUES
    (1, 2023, 'weekend', 120, 5000), (2, 2023, 'day', 55, 4000), (3, 2024, 'weekend', 135, 5000),
    (4, 2024, 'day', 60, 4000), (5, 2024, 'child', 20, 1000);
INSERT INTO visitor VALUES
    (1, 'Finn', '1017', 1988), (2, 'Gerda', '3512', 1954), (3, 'Hiro', '1018', 2001), (4, 'Iris', NULL, NULL);
INSERT INTO sale VALUES
    (1, 1, 1, '2023-03-01', 2), (2, 2, 2, '2023-07-14', 1), (3, 3, 1, '2024-02-10', 2), (4, 5, 1, '2024-02-10', 3),
    (5, 4, 3, '2024-06-30', 1), (6, 3, NULL, '2024-07-12', 4);
INSERT INTO volunteer VALUES (1, 'Jule', NULL), (2, 'Kurt', 1), (3, 'Lola', 1), (4, 'Milo', 3), (5, 'Nele', NULL);
INSERT INTO job VALUES ('BAR', 'Bar'), ('GATE', 'Entrance'), ('STG', 'Stage hand'), ('FST', 'First aid');
INSERT INTO shift VALUES
    (1, 'BAR', '2024-07-12 18:00', '2024-07-12 23:00'), (1, 'GATE', '2024-07-13 10:00', '2024-07-13 14:00'),
    (2, 'BAR', '2024-07-12 18:00', '2024-07-12 22:00'), (3, 'STG', '2024-07-12 16:00', '2024-07-12 23:30'),
    (4, 'STG', '2024-07-13 14:00', '2024-07-13 20:00');
INSERT INTO sponsor VALUES (1, 'Lakeside Brewery', 'Belgium'), (2, 'Northern Rail', 'Germany'), (3, 'Corner Bakery', NULL);
INSERT INTO sponsorship VALUES
    (1, 2022, 20000, 'gold'), (1, 2023, 22000, 'gold'), (1, 2024, 30000, 'gold'), (2, 2024, 15000, 'silver'), (3, 2024, 800, NULL);
