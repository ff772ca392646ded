CREATE TABLE artist (
    artist_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    born INTEGER,
    died INTEGER,
    nationality TEXT
);
CREATE TABLE gallery (
    gallery_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    wing TEXT NOT NULL,
    area_m2 REAL
);
CREATE TABLE artwork (
    inventory_no TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    artist_id INTEGER REFERENCES artist (artist_id),
    year INTEGER,
    medium TEXT,
    height_cm REAL,
    width_cm REAL,
    gallery_id INTEGER REFERENCES gallery (gallery_id),
    insured_value NUMERIC(12, 2)
);
CREATE TABLE loan (
    inventory_no TEXT NOT NULL REFERENCES artwork (inventory_no),
    borrower TEXT NOT NULL,
    "from" DATE NOT NULL,
    "until" DATE,
    PRIMARY KEY (inventory_no, "from")
);

INSERT INTO artist VALUES
    (1, 'Elsbeth van Loon', 1621, 1689, 'Dutch'), (2, 'Giacomo Ferri', 1702, 1771, 'Italian'),
    (3, 'Ilse Hartmann', 1889, 1964, 'German'), (4, 'Noriko Abe', 1951, NULL, 'Japanese'),
    (5, 'Peter Holt', 1930, 2011, NULL);
INSERT INTO gallery VALUES
    (1, 'Blue Room', 'East', 140), (2, 'Long Gallery', 'East', 320.5), (3, 'Print Cabinet', 'West', 60),
    (4, 'Tower', 'West', NULL);
INSERT INTO artwork VALUES
    ('A-001', 'Still Life with Lemons', 1, 1655, 'oil', 45, 60, 1, 2400000),
    ('A-002', 'Canal at Dusk', 1, 1661, 'oil', 80, 120, 2, 3900000),
    ('B-010', 'View of the Lagoon', 2, 1740, 'oil', 95, 140, 2, 1500000),
    ('C-101', 'Woodcut III', 3, 1921, 'woodcut', 30, 22, 3, 18000),
    ('C-102', 'Woodcut IV', 3, 1922, 'woodcut', 30, 22, 3, 17500),
    ('D-200', 'Silence', 4, 1998, 'ink', 180, 90, NULL, 60000),
    ('X-999', 'Portrait of a Boy', NULL, NULL, 'oil', 50, 40, 1, NULL);
INSERT INTO loan VALUES
    ('A-002', 'City Museum Delft', '2022-03-01', '2022-09-30'),
    ('A-002', 'Royal Academy', '2024-01-15', NULL),
    ('C-101', 'Print House', '2023-05-10', '2023-06-10'),
    ('D-200', 'City Museum Delft', '2023-11-01', '2024-02-28');
