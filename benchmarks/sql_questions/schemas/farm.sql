CREATE TABLE field (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    hectares REAL NOT NULL,
    soil TEXT
);
CREATE TABLE crop (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    family TEXT,
    days_to_harvest INTEGER
);
CREATE TABLE planting (
    id INTEGER PRIMARY KEY,
    field_id INTEGER NOT NULL REFERENCES field (id),
    crop_id INTEGER NOT NULL REFERENCES crop (id),
    sown DATE NOT NULL,
    harvested DATE,
    yield_t REAL,
    UNIQUE (field_id, sown)
);
CREATE TABLE animal (
    tag TEXT PRIMARY KEY,
    species TEXT NOT NULL,
    name TEXT,
    born DATE,
    mother TEXT REFERENCES animal (tag),
    father TEXT REFERENCES animal (tag)
);
CREATE TABLE milking (
    tag TEXT NOT NULL REFERENCES animal (tag),
    day DATE NOT NULL,
    session TEXT NOT NULL CHECK (session IN ('am', 'pm')),
    litres REAL NOT NULL,
    PRIMARY KEY (tag, day, session)
);

INSERT INTO field VALUES
    (1, 'North Slope', 12.5, 'clay'), (2, 'Creek Field', 8, 'loam'), (3, 'Top Acre', 3.2, NULL),
    (4, 'The Strip', 1.1, 'sand');
INSERT INTO crop VALUES
    (1, 'wheat', 'grass', 240), (2, 'barley', 'grass', 200), (3, 'potato', 'nightshade', 110), (4, 'clover', 'legume', NULL);
INSERT INTO planting VALUES
    (1, 1, 1, '2021-10-02', '2022-07-28', 88), (2, 2, 3, '2022-04-10', '2022-08-20', 210),
    (3, 1, 4, '2022-09-01', NULL, NULL), (4, 2, 2, '2022-10-05', '2023-07-10', 46.5),
    (5, 3, 3, '2023-04-18', '2023-08-30', 71), (6, 1, 1, '2023-10-07', NULL, NULL);
INSERT INTO animal VALUES
    ('C1', 'cow', 'Bella', '2016-03-01', NULL, NULL), ('C2', 'cow', 'Dolly', '2019-04-11', 'C1', 'B1'),
    ('C3', 'cow', 'Ebba', '2022-05-06', 'C2', NULL), ('B1', 'bull', 'Max', '2015-01-20', NULL, NULL),
    ('S1', 'sheep', NULL, '2021-03-15', NULL, NULL), ('C4', 'cow', 'Fern', NULL, 'C1', 'B1');
INSERT INTO milking VALUES
    ('C1', '2024-05-01', 'am', 14.2), ('C1', '2024-05-01', 'pm', 11.8), ('C2', '2024-05-01', 'am', 16),
    ('C2', '2024-05-01', 'pm', 13.1), ('C1', '2024-05-02', 'am', 13.9), ('C2', '2024-05-02', 'am', 15.5),
    ('C4', '2024-05-02', 'pm', 9);
