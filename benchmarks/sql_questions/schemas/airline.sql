CREATE TABLE airport (
    code CHAR(3) PRIMARY KEY,
    name TEXT NOT NULL,
    city TEXT NOT NULL,
    country TEXT NOT NULL,
    elevation_m INTEGER
);
CREATE TABLE aircraft_type (
    id INTEGER PRIMARY KEY,
    maker TEXT NOT NULL,
    model TEXT NOT NULL,
    seats INTEGER NOT NULL,
    range_km INTEGER,
    UNIQUE (maker, model)
);
CREATE TABLE aircraft (
    registration TEXT PRIMARY KEY,
    type_id INTEGER NOT NULL REFERENCES aircraft_type (id),
    built INTEGER
);
CREATE TABLE route (
    id INTEGER PRIMARY KEY,
    "from" CHAR(3) NOT NULL REFERENCES airport (code),
    "to" CHAR(3) NOT NULL REFERENCES airport (code),
    distance_km INTEGER NOT NULL,
    UNIQUE ("from", "to")
);
CREATE TABLE flight (
    flight_no TEXT NOT NULL,
    day DATE NOT NULL,
    route_id INTEGER NOT NULL REFERENCES route (id),
    registration TEXT REFERENCES aircraft (registration),
    departs TEXT NOT NULL,
    delay_minutes INTEGER,
    PRIMARY KEY (flight_no, day)
);
CREATE TABLE passenger (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    country TEXT,
    miles INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE booking (
    id INTEGER PRIMARY KEY,
    passenger_id INTEGER NOT NULL REFERENCES passenger (id),
    flight_no TEXT NOT NULL,
    day DATE NOT NULL,
    seat TEXT,
    fare REAL NOT NULL,
    FOREIGN KEY (flight_no, day) REFERENCES flight (flight_no, day),
    UNIQUE (flight_no, day, seat)
);
CREATE TABLE baggage (
    booking_id INTEGER NOT NULL REFERENCES booking (id),
    tag INTEGER NOT NULL,
    weight_kg REAL NOT NULL,
    PRIMARY KEY (booking_id, tag)
);

INSERT INTO airport VALUES
    ('LIS', 'Humberto Delgado', 'Lisbon', 'Portugal', 114),
    ('OPO', 'Francisco Sa Carneiro', 'Porto', 'Portugal', 69),
    ('ZRH', 'Zurich Airport', 'Zurich', 'Switzerland', 432),
    ('OSL', 'Gardermoen', 'Oslo', 'Norway', 208),
    ('AMS', 'Schiphol', 'Amsterdam', 'Netherlands', -3),
    ('KEF', 'Keflavik', 'Reykjavik', 'Iceland', 52);
INSERT INTO aircraft_type VALUES
    (1, 'Airbus', 'A320', 180, 6100), (2, 'Airbus', 'A220-300', 145, 6300),
    (3, 'Embraer', 'E190', 106, 4500), (4, 'ATR', '72-600', 72, 1500);
INSERT INTO aircraft VALUES
    ('CS-TAA', 1, 2016), ('CS-TAB', 1, 2019), ('CS-TBC', 2, 2021), ('CS-TCD', 3, 2011),
    ('CS-TDE', 4, NULL), ('CS-TEF', 2, 2024);
INSERT INTO route VALUES
    (1, 'LIS', 'ZRH', 1720), (2, 'ZRH', 'LIS', 1720), (3, 'LIS', 'OPO', 277),
    (4, 'OPO', 'AMS', 1600), (5, 'AMS', 'OSL', 960), (6, 'OSL', 'KEF', 1750);
INSERT INTO flight VALUES
    ('TQ100', '2024-05-01', 1, 'CS-TAA', '07:10', 0),
    ('TQ101', '2024-05-01', 2, 'CS-TAA', '11:40', 25),
    ('TQ100', '2024-05-02', 1, 'CS-TAB', '07:10', 95),
    ('TQ220', '2024-05-01', 3, 'CS-TDE', '09:00', NULL),
    ('TQ300', '2024-05-02', 4, 'CS-TBC', '13:25', 10),
    ('TQ410', '2024-05-03', 5, NULL, '18:00', NULL),
    ('TQ512', '2024-05-03', 6, 'CS-TCD', '21:15', 48);
INSERT INTO passenger VALUES
    (1, 'Aino Virtanen', 'Finland', 12000), (2, 'Bento Silva', 'Portugal', 54000),
    (3, 'Carl Nilsen', 'Norway', 800), (4, 'Dora Meier', 'Switzerland', 0),
    (5, 'Elif Kaya', NULL, 23000);
INSERT INTO booking VALUES
    (1, 1, 'TQ100', '2024-05-01', '12A', 189.9), (2, 2, 'TQ100', '2024-05-01', '12B', 240),
    (3, 2, 'TQ101', '2024-05-01', '3C', 310), (4, 3, 'TQ512', '2024-05-03', NULL, 99),
    (5, 5, 'TQ300', '2024-05-02', '7F', 129.5), (6, 5, 'TQ220', '2024-05-01', '1A', 59),
    (7, 1, 'TQ100', '2024-05-02', '14D', 175);
INSERT INTO baggage VALUES
    (1, 1, 18.2), (2, 1, 23), (2, 2, 11.4), (3, 1, 22.5), (5, 1, 9.9);
