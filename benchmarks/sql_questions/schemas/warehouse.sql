CREATE TABLE supplier (
    supplier_code TEXT PRIMARY KEY,
    supplier_name TEXT NOT NULL,
    country TEXT,
    rating INTEGER
);
CREATE TABLE part (
    part_no TEXT PRIMARY KEY,
    description TEXT NOT NULL,
    weight_g REAL,
    kind TEXT NOT NULL CHECK (kind IN ('raw', 'bought', 'made'))
);
CREATE TABLE component (
    parent_no TEXT NOT NULL REFERENCES part (part_no),
    child_no TEXT NOT NULL REFERENCES part (part_no),
    qty INTEGER NOT NULL,
    PRIMARY KEY (parent_no, child_no)
) WITHOUT ROWID;
CREATE TABLE supplier_part (
    supplier_code TEXT NOT NULL REFERENCES supplier (supplier_code),
    part_no TEXT NOT NULL REFERENCES part (part_no),
    price NUMERIC NOT NULL,
    lead_days INTEGER,
    PRIMARY KEY (supplier_code, part_no)
);
CREATE TABLE site (
    site_id INTEGER PRIMARY KEY,
    town TEXT NOT NULL UNIQUE
);
CREATE TABLE bin (
    site_id INTEGER NOT NULL REFERENCES site (site_id),
    bin TEXT NOT NULL,
    max_kg REAL,
    PRIMARY KEY (site_id, bin)
);
CREATE TABLE stock (
    site_id INTEGER NOT NULL,
    bin TEXT NOT NULL,
    part_no TEXT NOT NULL REFERENCES part (part_no),
    on_hand INTEGER NOT NULL,
    counted_on DATE,
    PRIMARY KEY (site_id, bin, part_no),
    FOREIGN KEY (site_id, bin) REFERENCES bin (site_id, bin)
);
CREATE TABLE purchase (
    purchase_id INTEGER PRIMARY KEY,
    supplier_code TEXT NOT NULL REFERENCES supplier (supplier_code),
    ordered_on DATE NOT NULL,
    received_on DATE
);
CREATE TABLE purchase_line (
    purchase_id INTEGER NOT NULL REFERENCES purchase (purchase_id),
    line INTEGER NOT NULL,
    part_no TEXT NOT NULL REFERENCES part (part_no),
    qty INTEGER NOT NULL,
    price NUMERIC NOT NULL,
    amount NUMERIC AS (qty * price) STORED,
    PRIMARY KEY (purchase_id, line)
);
CREATE VIEW stock_by_part AS
SELECT part_no, SUM(on_hand) AS on_hand FROM stock GROUP BY part_no;

INSERT INTO supplier VALUES
    ('ACM', 'Acme Metals', 'Poland', 4), ('BLT', 'Bolts & Co', 'Germany', 5), ('CHN', 'Chainworks', NULL, 3);
INSERT INTO part VALUES
    ('P100', 'Bicycle', 12500, 'made'), ('P110', 'Wheel', 1800, 'made'), ('P111', 'Spoke', 6.5, 'bought'),
    ('P112', 'Rim', 620, 'bought'), ('P120', 'Frame', 2300, 'made'), ('P121', 'Steel tube', 900, 'raw'),
    ('P130', 'Bolt M5', 4.2, 'bought'), ('P140', 'Bell', NULL, 'bought');
INSERT INTO component VALUES
    ('P100', 'P110', 2), ('P100', 'P120', 1), ('P100', 'P130', 12), ('P110', 'P111', 32), ('P110', 'P112', 1),
    ('P120', 'P121', 3), ('P120', 'P130', 4);
INSERT INTO supplier_part VALUES
    ('ACM', 'P121', 7.5, 14), ('ACM', 'P112', 18, 21), ('BLT', 'P130', 0.08, 3), ('BLT', 'P111', 0.22, 5),
    ('CHN', 'P111', 0.19, 30), ('CHN', 'P112', 16.4, NULL);
INSERT INTO site VALUES (1, 'Breda'), (2, 'Liege'), (3, 'Aachen');
INSERT INTO bin VALUES (1, 'A-01', 500), (1, 'A-02', 500), (2, 'A-01', 250), (3, 'Z-09', NULL);
INSERT INTO stock VALUES
    (1, 'A-01', 'P111', 4000, '2024-01-31'), (1, 'A-01', 'P112', 55, '2024-01-31'),
    (1, 'A-02', 'P130', 900, NULL), (2, 'A-01', 'P111', 650, '2024-02-29'), (2, 'A-01', 'P121', 80, '2024-02-29'),
    (2, 'A-01', 'P100', 3, '2024-02-29');
INSERT INTO purchase VALUES
    (1, 'ACM', '2024-01-08', '2024-01-25'), (2, 'BLT', '2024-01-15', '2024-01-17'),
    (3, 'CHN', '2024-02-01', NULL), (4, 'BLT', '2024-02-20', '2024-02-27');
INSERT INTO purchase_line (purchase_id, line, part_no, qty, price) VALUES
    (1, 1, 'P121', 100, 7.4), (1, 2, 'P112', 40, 18), (2, 1, 'P130', 5000, 0.08), (3, 1, 'P111', 3000, 0.19),
    (4, 1, 'P111', 1000, 0.22), (4, 2, 'P130', 2000, 0.075);
