CREATE TABLE Branch (
    BranchCode TEXT PRIMARY KEY,
    City TEXT NOT NULL,
    Opened DATE
);
CREATE TABLE Client (
    ClientId INTEGER PRIMARY KEY,
    FullName TEXT NOT NULL,
    Birthday DATE,
    BranchCode TEXT NOT NULL REFERENCES Branch (BranchCode)
);
CREATE TABLE Account (
    Iban TEXT PRIMARY KEY,
    Type TEXT NOT NULL,
    Currency TEXT NOT NULL DEFAULT 'EUR',
    OpenedOn DATE NOT NULL,
    ClosedOn DATE
);
CREATE TABLE Holder (
    Iban TEXT NOT NULL REFERENCES Account (Iban),
    ClientId INTEGER NOT NULL REFERENCES Client (ClientId),
    PRIMARY KEY (Iban, ClientId)
);
CREATE TABLE "Transaction" (
    Id INTEGER PRIMARY KEY,
    Iban TEXT NOT NULL REFERENCES Account (Iban),
    BookedOn DATE NOT NULL,
    Amount NUMERIC(14, 2) NOT NULL,
    Purpose TEXT
);
CREATE TABLE Rate (
    Currency TEXT NOT NULL,
    ValidFrom DATE NOT NULL,
    PerEuro REAL NOT NULL,
    PRIMARY KEY (Currency, ValidFrom)
);
CREATE VIEW Balance AS
SELECT Iban, ROUND(SUM(Amount), 2) AS Balance FROM "Transaction" GROUP BY Iban;

INSERT INTO Branch VALUES ('GRZ1', 'Graz', '1975-05-02'), ('VIE1', 'Vienna', '1960-01-11'), ('VIE2', 'Vienna', '2001-09-20');
INSERT INTO Client VALUES
    (1, 'Agnes Huber', '1962-03-30', 'VIE1'), (2, 'Bodo Lang', '1985-11-05', 'VIE2'),
    (3, 'Celine Roth', '1999-07-19', 'GRZ1'), (4, 'Dragan Ilic', NULL, 'VIE1'), (5, 'Ella Huber', '1990-12-01', 'VIE1');
INSERT INTO Account VALUES
    ('AT01', 'giro', 'EUR', '2001-02-03', NULL), ('AT02', 'savings', 'EUR', '2010-06-15', NULL),
    ('AT03', 'giro', 'CHF', '2018-10-10', NULL), ('AT04', 'giro', 'EUR', '2019-01-01', '2023-06-30'),
    ('AT05', 'savings', 'USD', '2022-08-08', NULL);
INSERT INTO Holder VALUES ('AT01', 1), ('AT01', 5), ('AT02', 1), ('AT03', 2), ('AT04', 3), ('AT05', 4);
INSERT INTO "Transaction" VALUES
    (1, 'AT01', '2024-01-02', 2500, 'salary'), (2, 'AT01', '2024-01-05', -900, 'rent'),
    (3, 'AT01', '2024-01-20', -64.9, 'groceries'), (4, 'AT02', '2024-01-31', 300, NULL),
    (5, 'AT03', '2024-02-01', 4100, 'salary'), (6, 'AT03', '2024-02-03', -1250.5, 'rent'),
    (7, 'AT01', '2024-02-02', 2500, 'salary'), (8, 'AT05', '2024-02-10', 75, 'interest');
INSERT INTO Rate VALUES
    ('CHF', '2024-01-01', 0.93), ('CHF', '2024-02-01', 0.95), ('USD', '2024-01-01', 1.1), ('USD', '2024-02-01', 1.08);
