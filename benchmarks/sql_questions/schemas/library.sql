CREATE TABLE authors (
    author_id INTEGER PRIMARY KEY,
    first_name TEXT,
    last_name TEXT NOT NULL,
    birth_year INTEGER,
    country TEXT
);
CREATE TABLE books (
    isbn TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    published INTEGER,
    pages INTEGER,
    genre TEXT
);
CREATE TABLE book_authors (
    isbn TEXT NOT NULL REFERENCES books (isbn),
    author_id INTEGER NOT NULL REFERENCES authors (author_id),
    position INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (isbn, author_id)
) WITHOUT ROWID;
CREATE TABLE copies (
    copy_id INTEGER PRIMARY KEY,
    isbn TEXT NOT NULL REFERENCES books (isbn),
    shelf TEXT,
    condition TEXT CHECK (condition IN ('new', 'good', 'worn'))
);
CREATE TABLE members (
    member_id INTEGER PRIMARY KEY,
    first_name TEXT NOT NULL,
    last_name TEXT NOT NULL,
    born DATE,
    card_number TEXT NOT NULL UNIQUE
);
CREATE TABLE loans (
    loan_id INTEGER PRIMARY KEY,
    copy_id INTEGER NOT NULL REFERENCES copies (copy_id),
    member_id INTEGER NOT NULL REFERENCES members (member_id),
    loaned DATE NOT NULL,
    due DATE NOT NULL,
    returned DATE
);
CREATE VIEW open_loans AS
SELECT loan_id, copy_id, member_id, due FROM loans WHERE returned IS NULL;

INSERT INTO authors VALUES
    (1, 'Mira', 'Halloran', 1931, 'Ireland'),
    (2, 'Tomas', 'Vesely', 1960, 'Czechia'),
    (3, NULL, 'Ondine', 1902, 'France'),
    (4, 'Ruth', 'Achebe-Lowe', 1975, 'Nigeria'),
    (5, 'Per', 'Dahl', 1948, 'Norway');
INSERT INTO books VALUES
    ('978-0-11', 'The Salt Road', 1968, 312, 'novel'),
    ('978-0-12', 'The Glass Harbour', 1974, 287, 'novel'),
    ('978-0-13', 'Bridges and Tunnels', 1999, 540, 'engineering'),
    ('978-0-14', 'Songs of the River', 1930, 96, 'poetry'),
    ('978-0-15', 'A Field of Numbers', 2011, 410, 'mathematics'),
    ('978-0-16', 'Winter Arithmetic', 2015, 198, 'mathematics');
INSERT INTO book_authors VALUES
    ('978-0-11', 1, 1), ('978-0-12', 1, 1), ('978-0-13', 2, 1), ('978-0-13', 5, 2),
    ('978-0-14', 3, 1), ('978-0-15', 4, 1), ('978-0-15', 2, 2), ('978-0-16', 4, 1);
INSERT INTO copies VALUES
    (1, '978-0-11', 'A1', 'good'), (2, '978-0-11', 'A1', 'worn'), (3, '978-0-12', 'A2', 'new'),
    (4, '978-0-13', 'E7', 'good'), (5, '978-0-14', 'P3', 'worn'), (6, '978-0-15', 'M1', 'new'),
    (7, '978-0-15', NULL, 'good');
INSERT INTO members VALUES
    (1, 'Lena', 'Fisk', '1990-07-01', 'C-1001'),
    (2, 'Omar', 'Haddad', '2009-11-23', 'C-1002'),
    (3, 'Pia', 'Dahl', '1971-02-14', 'C-1003'),
    (4, 'Quentin', 'Moss', NULL, 'C-1004');
INSERT INTO loans VALUES
    (1, 1, 1, '2024-01-03', '2024-01-24', '2024-01-20'),
    (2, 3, 1, '2024-01-03', '2024-01-24', '2024-02-01'),
    (3, 6, 2, '2024-02-10', '2024-03-02', '2024-03-02'),
    (4, 4, 3, '2024-02-15', '2024-03-07', NULL),
    (5, 1, 3, '2024-03-01', '2024-03-22', '2024-03-29'),
    (6, 5, 1, '2024-03-12', '2024-04-02', NULL),
    (7, 6, 1, '2024-03-20', '2024-04-10', NULL);
