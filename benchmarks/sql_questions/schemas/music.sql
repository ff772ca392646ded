CREATE TABLE Band (
    Id INTEGER PRIMARY KEY,
    Name TEXT NOT NULL UNIQUE,
    Founded INTEGER,
    Country TEXT
);
CREATE TABLE Musician (
    Id INTEGER PRIMARY KEY,
    Name TEXT NOT NULL,
    Born INTEGER
);
CREATE TABLE Membership (
    BandId INTEGER NOT NULL REFERENCES Band (Id),
    MusicianId INTEGER NOT NULL REFERENCES Musician (Id),
    Instrument TEXT NOT NULL,
    FromYear INTEGER NOT NULL,
    ToYear INTEGER,
    PRIMARY KEY (BandId, MusicianId, Instrument)
);
CREATE TABLE Record (
    Id INTEGER PRIMARY KEY,
    BandId INTEGER NOT NULL REFERENCES Band (Id),
    Title TEXT NOT NULL,
    Released DATE,
    Label TEXT
);
CREATE TABLE Song (
    Id INTEGER PRIMARY KEY,
    RecordId INTEGER NOT NULL REFERENCES Record (Id),
    Number INTEGER NOT NULL,
    Title TEXT NOT NULL,
    Seconds INTEGER NOT NULL,
    UNIQUE (RecordId, Number)
);
CREATE TABLE Playlist (
    Id INTEGER PRIMARY KEY,
    Name TEXT NOT NULL
);
CREATE TABLE PlaylistSong (
    PlaylistId INTEGER NOT NULL REFERENCES Playlist (Id),
    Position INTEGER NOT NULL,
    SongId INTEGER NOT NULL REFERENCES Song (Id),
    PRIMARY KEY (PlaylistId, Position)
);
CREATE VIEW RecordLength AS
SELECT Record.Id, Record.Title, SUM(Song.Seconds) AS Seconds, COUNT(*) AS Songs
FROM Record JOIN Song ON Song.RecordId = Record.Id
GROUP BY Record.Id;

INSERT INTO Band VALUES
    (1, 'The Copper Kites', 1994, 'Canada'), (2, 'Nachtlicht', 2003, 'Germany'),
    (3, 'Sol y Polvo', 2010, 'Mexico'), (4, 'Quiet Engine', 2018, NULL);
INSERT INTO Musician VALUES
    (1, 'Joan Pell', 1970), (2, 'Mark Dufour', 1968), (3, 'Silke Brandt', 1980),
    (4, 'Raul Ibarra', 1985), (5, 'Tess Owen', NULL);
INSERT INTO Membership VALUES
    (1, 1, 'vocals', 1994, NULL), (1, 1, 'guitar', 1994, NULL), (1, 2, 'drums', 1994, 2001),
    (2, 3, 'synthesizer', 2003, NULL), (3, 4, 'vocals', 2010, NULL), (4, 2, 'drums', 2018, NULL),
    (4, 5, 'bass', 2018, 2022);
INSERT INTO Record VALUES
    (1, 1, 'Paper Weather', '1996-05-20', 'Tin Roof'), (2, 1, 'Low Tide', '2000-10-02', 'Tin Roof'),
    (3, 2, 'Stadtplan', '2004-03-15', 'Elbe'), (4, 3, 'Camino', '2012-07-07', NULL),
    (5, 4, 'Idle', '2019-02-01', 'Elbe');
INSERT INTO Song VALUES
    (1, 1, 1, 'Kite String', 201), (2, 1, 2, 'Northern Rain', 245), (3, 2, 1, 'Low Tide', 312),
    (4, 3, 1, 'Ring', 420), (5, 3, 2, 'Hafen', 388), (6, 4, 1, 'Camino', 187),
    (7, 4, 2, 'La Lluvia', 233), (8, 5, 1, 'Idle', 154);
INSERT INTO Playlist VALUES (1, 'Rainy day'), (2, 'Driving'), (3, 'Empty for now');
INSERT INTO PlaylistSong VALUES
    (1, 1, 2), (1, 2, 7), (1, 3, 3), (2, 1, 4), (2, 2, 1), (2, 3, 2), (2, 4, 4);
