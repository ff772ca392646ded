CREATE TABLE room_type (
    code TEXT PRIMARY KEY,
    description TEXT NOT NULL,
    beds INTEGER NOT NULL,
    rate NUMERIC NOT NULL
) WITHOUT ROWID;
CREATE TABLE room (
    number INTEGER PRIMARY KEY,
    floor INTEGER NOT NULL,
    type TEXT NOT NULL REFERENCES room_type (code),
    sea_view BOOLEAN NOT NULL DEFAULT 0
);
CREATE TABLE guest (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    nationality TEXT,
    phone TEXT
);
CREATE TABLE stay (
    id INTEGER PRIMARY KEY,
    guest_id INTEGER NOT NULL REFERENCES guest (id),
    room_number INTEGER NOT NULL REFERENCES room (number),
    arrival DATE NOT NULL,
    departure DATE NOT NULL,
    nights INTEGER GENERATED ALWAYS AS (julianday(departure) - julianday(arrival)) VIRTUAL,
    CHECK (departure > arrival)
);
CREATE TABLE charge (
    stay_id INTEGER NOT NULL REFERENCES stay (id),
    charged_at DATETIME NOT NULL,
    what TEXT NOT NULL,
    amount REAL NOT NULL
);

INSERT INTO room_type VALUES
    ('SGL', 'Single room', 1, 70), ('DBL', 'Double room', 2, 110), ('FAM', 'Family room', 4, 160),
    ('STE', 'Suite', 2, 290);
INSERT INTO room VALUES
    (101, 1, 'SGL', 0), (102, 1, 'DBL', 0), (201, 2, 'DBL', 1), (202, 2, 'FAM', 1), (301, 3, 'STE', 1),
    (302, 3, 'DBL', 1);
INSERT INTO guest VALUES
    (1, 'Nora Wilde', 'British', '+44 20 5550101'), (2, 'Ivan Kolar', 'Croatian', NULL),
    (3, 'Mei Tanaka', 'Japanese', '+81 3 5550177'), (4, 'Paul Wilde', 'British', NULL),
    (5, 'Sofia Ricci', NULL, '+39 06 5550142');
INSERT INTO stay (id, guest_id, room_number, arrival, departure) VALUES
    (1, 1, 101, '2024-06-01', '2024-06-04'), (2, 2, 201, '2024-06-02', '2024-06-09'),
    (3, 3, 301, '2024-06-03', '2024-06-05'), (4, 4, 102, '2024-06-04', '2024-06-05'),
    (5, 1, 301, '2024-07-10', '2024-07-17'), (6, 5, 202, '2024-07-12', '2024-07-15'),
    (7, 3, 302, '2024-08-01', '2024-08-03');
INSERT INTO charge VALUES
    (1, '2024-06-01 20:15', 'dinner', 34.5), (1, '2024-06-02 22:40', 'bar', 18),
    (2, '2024-06-05 09:00', 'laundry', 22), (3, '2024-06-03 21:10', 'dinner', 78),
    (3, '2024-06-04 10:00', 'spa', 120), (5, '2024-07-11 23:05', 'bar', 41), (6, '2024-07-12 19:30', 'dinner', 96);
