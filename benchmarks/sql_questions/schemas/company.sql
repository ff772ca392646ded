CREATE TABLE departments (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    location TEXT,
    budget NUMERIC
);
CREATE TABLE employees (
    id INTEGER PRIMARY KEY,
    first_name TEXT NOT NULL,
    last_name TEXT NOT NULL,
    email TEXT UNIQUE,
    department_id INTEGER REFERENCES departments (id),
    manager_id INTEGER REFERENCES employees (id),
    hire_date DATE NOT NULL,
    salary REAL NOT NULL
);
CREATE TABLE projects (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    department_id INTEGER NOT NULL REFERENCES departments (id),
    start_date DATE,
    end_date DATE
);
CREATE TABLE assignments (
    employee_id INTEGER NOT NULL REFERENCES employees (id),
    project_id INTEGER NOT NULL REFERENCES projects (id),
    role TEXT,
    hours REAL NOT NULL DEFAULT 0,
    PRIMARY KEY (employee_id, project_id)
);
CREATE TABLE salary_history (
    employee_id INTEGER NOT NULL REFERENCES employees (id),
    valid_from DATE NOT NULL,
    salary REAL NOT NULL,
    PRIMARY KEY (employee_id, valid_from)
);

INSERT INTO departments VALUES
    (1, 'Engineering', 'Utrecht', 900000), (2, 'Sales', 'Ghent', 400000), (3, 'Finance', 'Utrecht', 250000),
    (4, 'Legal', NULL, NULL);
INSERT INTO employees VALUES
    (1, 'Greta', 'Vos', 'greta@acme.test', 1, NULL, '2010-01-04', 145000),
    (2, 'Hugo', 'Maes', 'hugo@acme.test', 1, 1, '2014-06-16', 98000),
    (3, 'Ines', 'Prado', 'ines@acme.test', 1, 2, '2019-09-02', 72000),
    (4, 'Jan', 'Bos', NULL, 2, 1, '2012-11-12', 88000),
    (5, 'Kofi', 'Asante', 'kofi@acme.test', 2, 4, '2021-02-01', 54000),
    (6, 'Lin', 'Zhou', 'lin@acme.test', 3, 1, '2016-04-25', 91000),
    (7, 'Mona', 'Saleh', 'mona@acme.test', 1, 2, '2022-08-15', 66000),
    (8, 'Nils', 'Berg', 'nils@acme.test', NULL, NULL, '2023-10-09', 40000);
INSERT INTO projects VALUES
    (1, 'Billing rewrite', 1, '2022-01-10', NULL), (2, 'Mobile app', 1, '2020-03-01', '2021-12-31'),
    (3, 'Belgium launch', 2, '2023-05-01', NULL), (4, 'Audit 2023', 3, '2023-01-15', '2023-04-30');
INSERT INTO assignments VALUES
    (2, 1, 'lead', 320), (3, 1, 'developer', 610.5), (7, 1, 'developer', 480), (3, 2, 'developer', 900),
    (2, 2, NULL, 150), (4, 3, 'lead', 200), (5, 3, 'sales', 410), (6, 4, 'lead', 260);
INSERT INTO salary_history VALUES
    (2, '2014-06-16', 70000), (2, '2018-01-01', 85000), (2, '2023-01-01', 98000), (3, '2019-09-02', 61000),
    (3, '2022-01-01', 72000), (5, '2021-02-01', 50000), (5, '2023-02-01', 54000);
