CREATE TABLE teacher (
    teacher_id INTEGER PRIMARY KEY,
    teacher_name TEXT NOT NULL,
    since INTEGER
);
CREATE TABLE subject (
    subject_id INTEGER PRIMARY KEY,
    subject_name TEXT NOT NULL UNIQUE
);
CREATE TABLE class (
    class_id INTEGER PRIMARY KEY,
    grade INTEGER NOT NULL,
    letter TEXT NOT NULL,
    teacher_id INTEGER REFERENCES teacher (teacher_id),
    UNIQUE (grade, letter)
);
CREATE TABLE student (
    student_id INTEGER PRIMARY KEY,
    student_name TEXT NOT NULL,
    class_id INTEGER NOT NULL REFERENCES class (class_id),
    born DATE NOT NULL
);
CREATE TABLE lesson (
    class_id INTEGER NOT NULL REFERENCES class (class_id),
    weekday INTEGER NOT NULL CHECK (weekday BETWEEN 1 AND 5),
    hour INTEGER NOT NULL,
    subject_id INTEGER NOT NULL REFERENCES subject (subject_id),
    teacher_id INTEGER NOT NULL REFERENCES teacher (teacher_id),
    room TEXT,
    PRIMARY KEY (class_id, weekday, hour)
) WITHOUT ROWID;
CREATE TABLE mark (
    student_id INTEGER NOT NULL REFERENCES student (student_id),
    subject_id INTEGER NOT NULL REFERENCES subject (subject_id),
    given DATE NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (student_id, subject_id, given)
);
CREATE TABLE absence (
    student_id INTEGER NOT NULL REFERENCES student (student_id),
    day DATE NOT NULL,
    excused INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (student_id, day)
);

INSERT INTO teacher VALUES
    (1, 'Ms Abara', 2008), (2, 'Mr Bell', 2015), (3, 'Mrs Costa', 2015), (4, 'Mr Dunne', NULL);
INSERT INTO subject VALUES
    (1, 'Mathematics'), (2, 'History'), (3, 'Biology'), (4, 'Music');
INSERT INTO class VALUES
    (1, 7, 'A', 1), (2, 7, 'B', 2), (3, 8, 'A', NULL);
INSERT INTO student VALUES
    (1, 'Anna', 1, '2011-02-03'), (2, 'Bilal', 1, '2011-09-17'), (3, 'Chen', 1, '2010-12-30'),
    (4, 'Dara', 2, '2011-05-05'), (5, 'Emil', 2, '2011-06-21'), (6, 'Freya', 3, '2010-03-12'),
    (7, 'Gus', 3, '2009-11-08');
INSERT INTO lesson VALUES
    (1, 1, 1, 1, 1, '101'), (1, 1, 2, 2, 2, '102'), (1, 3, 1, 3, 3, 'Lab'),
    (2, 1, 1, 2, 2, '102'), (2, 2, 4, 1, 1, '101'), (3, 1, 3, 1, 1, NULL),
    (3, 5, 2, 3, 3, 'Lab');
INSERT INTO mark VALUES
    (1, 1, '2024-02-01', 5.5), (1, 2, '2024-02-08', 4), (2, 1, '2024-02-01', 3.5),
    (3, 1, '2024-02-01', 6), (4, 2, '2024-02-09', 5), (5, 2, '2024-02-09', 4.5),
    (6, 3, '2024-03-01', 5), (1, 1, '2024-03-14', 4.5);
INSERT INTO absence VALUES
    (2, '2024-02-08', 1), (2, '2024-02-09', 0), (5, '2024-03-01', 1), (7, '2024-03-01', 0);
