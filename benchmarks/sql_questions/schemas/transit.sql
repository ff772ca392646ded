CREATE TABLE line (
    line_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    mode TEXT NOT NULL CHECK (mode IN ('bus', 'tram', 'metro')),
    color TEXT
);
CREATE TABLE stop (
    stop_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    zone INTEGER NOT NULL,
    lat REAL,
    lon REAL,
    has_lift INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE line_stop (
    line_id INTEGER NOT NULL REFERENCES line (line_id),
    seq INTEGER NOT NULL,
    stop_id INTEGER NOT NULL REFERENCES stop (stop_id),
    minutes_from_start INTEGER NOT NULL,
    PRIMARY KEY (line_id, seq),
    UNIQUE (line_id, stop_id)
) WITHOUT ROWID;
CREATE TABLE vehicle (
    vehicle_id INTEGER PRIMARY KEY,
    mode TEXT NOT NULL,
    capacity INTEGER NOT NULL,
    bought DATE
);
CREATE TABLE trip (
    trip_id INTEGER PRIMARY KEY,
    line_id INTEGER NOT NULL REFERENCES line (line_id),
    vehicle_id INTEGER REFERENCES vehicle (vehicle_id),
    starts DATETIME NOT NULL,
    passengers INTEGER
);
CREATE TABLE fare (
    zones INTEGER NOT NULL,
    kind TEXT NOT NULL,
    price NUMERIC(5, 2) NOT NULL,
    PRIMARY KEY (zones, kind)
);

INSERT INTO line VALUES
    (1, 'M1', 'metro', 'red'), (2, 'T4', 'tram', 'green'), (3, 'B12', 'bus', NULL),
    (4, 'B90', 'bus', 'blue');
INSERT INTO stop VALUES
    (1, 'Central Station', 1, 50.11, 8.66, 1), (2, 'Old Market', 1, 50.112, 8.68, 1),
    (3, 'University', 2, 50.13, 8.67, 0), (4, 'Hospital', 2, 50.14, 8.70, 1),
    (5, 'Airport', 3, 50.05, 8.57, 1), (6, 'Lake Road', 3, NULL, NULL, 0), (7, 'Depot', 3, 50.02, 8.6, 0);
INSERT INTO line_stop VALUES
    (1, 1, 5, 0), (1, 2, 1, 14), (1, 3, 2, 17), (1, 4, 3, 22), (2, 1, 2, 0), (2, 2, 4, 9),
    (3, 1, 4, 0), (3, 2, 6, 12);
INSERT INTO vehicle VALUES
    (1, 'metro', 400, '2010-01-01'), (2, 'metro', 480, '2020-06-01'), (3, 'tram', 180, '2015-03-01'),
    (4, 'bus', 70, '2022-09-15'), (5, 'bus', 95, NULL);
INSERT INTO trip VALUES
    (1, 1, 1, '2024-06-03 07:30', 390), (2, 1, 2, '2024-06-03 07:40', 455),
    (3, 1, 1, '2024-06-03 12:00', 120), (4, 2, 3, '2024-06-03 07:35', 150),
    (5, 2, 3, '2024-06-04 18:05', 176), (6, 3, 4, '2024-06-04 08:10', 64), (7, 3, NULL, '2024-06-05 08:10', NULL);
INSERT INTO fare VALUES
    (1, 'single', 2.2), (2, 'single', 3.1), (3, 'single', 4.5), (1, 'day', 5), (2, 'day', 7.4),
    (3, 'day', 9.9);
