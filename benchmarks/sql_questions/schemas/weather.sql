CREATE TABLE station (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    altitude REAL,
    latitude REAL NOT NULL,
    longitude REAL NOT NULL,
    opened DATE
);
CREATE TABLE reading (
    station_id TEXT NOT NULL REFERENCES station (id),
    day DATE NOT NULL,
    t_min REAL,
    t_max REAL,
    rain_mm REAL,
    wind_kmh REAL,
    PRIMARY KEY (station_id, day)
);

INSERT INTO station VALUES
    ('S01', 'Highfell', 1240, 54.53, -3.21, '1961-04-01'),
    ('S02', 'Marsh Point', 3, 52.95, 1.02, '1988-10-15'),
    ('S03', 'Old Quarry', 310, 53.2, -1.9, NULL);
INSERT INTO reading VALUES
    ('S01', '2024-01-01', -6.5, -1, 0, 62), ('S01', '2024-01-02', -4, 0.5, 12.4, 80),
    ('S01', '2024-01-03', -3, 2, 8.1, NULL), ('S02', '2024-01-01', 3.5, 8, 1.2, 25),
    ('S02', '2024-01-02', 4, 9.5, 0, 18), ('S02', '2024-01-03', 5, 10, 22.6, 44),
    ('S03', '2024-01-01', NULL, 5.5, 0, 12), ('S03', '2024-01-02', 0.5, 6, 3.3, 20);
