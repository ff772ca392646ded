CREATE TABLE species (
    code TEXT PRIMARY KEY,
    "common name" TEXT NOT NULL UNIQUE,
    "scientific name" TEXT NOT NULL,
    family TEXT NOT NULL,
    wingspan_cm REAL
);
CREATE TABLE observer (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    since INTEGER
);
CREATE TABLE sighting (
    id INTEGER PRIMARY KEY,
    code TEXT NOT NULL REFERENCES species (code),
    observer_id INTEGER NOT NULL REFERENCES observer (id),
    place TEXT NOT NULL,
    "date" DATE NOT NULL,
    "count" INTEGER NOT NULL DEFAULT 1,
    remark TEXT
);

INSERT INTO species VALUES
    ('BLT', 'Blue tit', 'Cyanistes caeruleus', 'tits', 19), ('GRT', 'Great tit', 'Parus major', 'tits', 24),
    ('GRH', 'Grey heron', 'Ardea cinerea', 'herons', 175), ('KST', 'Common kestrel', 'Falco tinnunculus', 'falcons', 76),
    ('BTN', 'Great bittern', 'Botaurus stellaris', 'herons', NULL);
INSERT INTO observer VALUES (1, 'Alma', 2001), (2, 'Bert', 2019), (3, 'Cora', NULL), (4, 'Dirk', 2023);
INSERT INTO sighting VALUES
    (1, 'BLT', 1, 'Mill Pond', '2024-01-06', 4, NULL), (2, 'GRT', 1, 'Mill Pond', '2024-01-06', 2, NULL),
    (3, 'GRH', 2, 'Mill Pond', '2024-02-11', 1, 'fishing'), (4, 'KST', 2, 'Church Tower', '2024-03-02', 2, 'pair'),
    (5, 'BLT', 3, 'Reed Bank', '2024-03-10', 7, NULL), (6, 'GRH', 1, 'Reed Bank', '2024-03-10', 3, NULL),
    (7, 'KST', 2, 'Church Tower', '2023-05-20', 5, 'three young'), (8, 'BLT', 1, 'Mill Pond', '2023-12-30', 6, NULL);
