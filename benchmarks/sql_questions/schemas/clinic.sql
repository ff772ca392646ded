CREATE TABLE Department (
    DepartmentId INTEGER PRIMARY KEY,
    Name TEXT NOT NULL UNIQUE,
    Floor INTEGER
);
CREATE TABLE Doctor (
    DoctorId INTEGER PRIMARY KEY,
    Name TEXT NOT NULL,
    DepartmentId INTEGER NOT NULL REFERENCES Department (DepartmentId),
    HiredOn DATE,
    Salary REAL
);
CREATE TABLE Patient (
    PatientId INTEGER PRIMARY KEY,
    Name TEXT NOT NULL,
    BirthDate DATE NOT NULL,
    Sex TEXT CHECK (Sex IN ('F', 'M', 'X')),
    City TEXT
);
CREATE TABLE Appointment (
    AppointmentId INTEGER PRIMARY KEY,
    PatientId INTEGER NOT NULL REFERENCES Patient (PatientId),
    DoctorId INTEGER NOT NULL REFERENCES Doctor (DoctorId),
    StartsAt DATETIME NOT NULL,
    Minutes INTEGER NOT NULL DEFAULT 15,
    Kept INTEGER
);
CREATE TABLE Diagnosis (
    AppointmentId INTEGER NOT NULL REFERENCES Appointment (AppointmentId),
    Code TEXT NOT NULL,
    Note TEXT,
    PRIMARY KEY (AppointmentId, Code)
);
CREATE TABLE Drug (
    DrugId INTEGER PRIMARY KEY,
    Name TEXT NOT NULL UNIQUE,
    PricePerDose NUMERIC
);
CREATE TABLE Prescription (
    AppointmentId INTEGER NOT NULL REFERENCES Appointment (AppointmentId),
    DrugId INTEGER NOT NULL REFERENCES Drug (DrugId),
    Doses INTEGER NOT NULL,
    PRIMARY KEY (AppointmentId, DrugId)
);

INSERT INTO Department VALUES
    (1, 'Cardiology', 2), (2, 'Dermatology', 1), (3, 'Paediatrics', 1), (4, 'Radiology', 0);
INSERT INTO Doctor VALUES
    (1, 'Amal Nasser', 1, '2012-09-01', 98000),
    (2, 'Bruno Keller', 1, '2019-04-15', 82000),
    (3, 'Clara Voss', 2, '2015-01-10', 87500),
    (4, 'Dmitri Orlov', 3, '2021-07-01', 76000),
    (5, 'Esi Mensah', 3, '2010-03-20', 91000);
INSERT INTO Patient VALUES
    (1, 'Hana Sato', '1958-05-02', 'F', 'Bern'),
    (2, 'Igor Petrov', '1990-12-11', 'M', 'Basel'),
    (3, 'Jo Lindt', '2016-08-19', 'X', 'Bern'),
    (4, 'Karim Aziz', '2019-01-30', 'M', NULL),
    (5, 'Lucy Frei', '1975-03-08', 'F', 'Thun');
INSERT INTO Appointment VALUES
    (1, 1, 1, '2024-02-01 09:00', 30, 1),
    (2, 1, 2, '2024-02-15 10:30', 15, 1),
    (3, 2, 3, '2024-02-15 11:00', 15, 0),
    (4, 3, 4, '2024-02-20 14:00', 20, 1),
    (5, 4, 5, '2024-03-04 08:30', 20, 1),
    (6, 2, 3, '2024-03-05 16:00', 30, 1),
    (7, 1, 1, '2024-03-11 09:15', 45, NULL);
INSERT INTO Diagnosis VALUES
    (1, 'I10', 'high blood pressure'), (2, 'I10', NULL), (4, 'J06', 'cold'),
    (5, 'J06', NULL), (5, 'H66', 'left ear'), (6, 'L20', 'dry skin');
INSERT INTO Drug VALUES
    (1, 'Amlopine', 0.4), (2, 'Dermacort', 1.25), (3, 'Otobiotic', 0.95), (4, 'Placidol', NULL);
INSERT INTO Prescription VALUES
    (1, 1, 60), (2, 1, 90), (5, 3, 14), (6, 2, 20);
