CREATE TABLE "table" (
    number INTEGER PRIMARY KEY,
    seats INTEGER NOT NULL,
    outside INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE waiter (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    "hourly wage" REAL
);
CREATE TABLE dish (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    course TEXT NOT NULL,
    price REAL NOT NULL,
    vegetarian INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE ingredient (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    unit TEXT NOT NULL,
    "cost per unit" REAL NOT NULL
);
CREATE TABLE recipe (
    dish_id INTEGER NOT NULL REFERENCES dish (id),
    ingredient_id INTEGER NOT NULL REFERENCES ingredient (id),
    amount REAL NOT NULL,
    PRIMARY KEY (dish_id, ingredient_id)
);
CREATE TABLE reservation (
    id INTEGER PRIMARY KEY,
    "table" INTEGER NOT NULL REFERENCES "table" (number),
    name TEXT NOT NULL,
    "when" DATETIME NOT NULL,
    guests INTEGER NOT NULL
);
CREATE TABLE bill (
    id INTEGER PRIMARY KEY,
    "table" INTEGER NOT NULL REFERENCES "table" (number),
    waiter_id INTEGER NOT NULL REFERENCES waiter (id),
    opened DATETIME NOT NULL,
    tip REAL
);
CREATE TABLE bill_item (
    bill_id INTEGER NOT NULL REFERENCES bill (id),
    dish_id INTEGER NOT NULL REFERENCES dish (id),
    count INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (bill_id, dish_id)
);

INSERT INTO "table" VALUES (1, 2, 0), (2, 4, 0), (3, 4, 1), (4, 8, 1);
INSERT INTO waiter VALUES (1, 'Ana', 14.5), (2, 'Boris', 13), (3, 'Cleo', NULL);
INSERT INTO dish VALUES
    (1, 'Onion soup', 'starter', 7.5, 1), (2, 'Beet salad', 'starter', 8.9, 1),
    (3, 'Roast duck', 'main', 26, 0), (4, 'Mushroom risotto', 'main', 17.5, 1),
    (5, 'Trout', 'main', 22, 0), (6, 'Plum tart', 'dessert', 6.8, 1),
    (7, 'Cheese plate', 'dessert', 12, 1);
INSERT INTO ingredient VALUES
    (1, 'onion', 'kg', 1.2), (2, 'duck', 'kg', 14), (3, 'rice', 'kg', 2.5), (4, 'mushrooms', 'kg', 9),
    (5, 'plums', 'kg', 3.4), (6, 'butter', 'kg', 8), (7, 'saffron', 'g', 6);
INSERT INTO recipe VALUES
    (1, 1, 0.3), (1, 6, 0.05), (3, 2, 0.45), (3, 1, 0.1), (4, 3, 0.12), (4, 4, 0.15), (4, 6, 0.04), (6, 5, 0.2);
INSERT INTO reservation VALUES
    (1, 1, 'Weber', '2024-04-05 19:00', 2), (2, 4, 'Choir', '2024-04-05 20:00', 7),
    (3, 2, 'Weber', '2024-04-12 18:30', 3), (4, 3, 'Diaz', '2024-04-13 12:30', 4);
INSERT INTO bill VALUES
    (1, 1, 1, '2024-04-05 19:05', 5), (2, 4, 2, '2024-04-05 20:10', 22.5), (3, 2, 1, '2024-04-06 12:20', NULL),
    (4, 3, 3, '2024-04-06 13:00', 3), (5, 2, 2, '2024-04-12 18:35', 6);
INSERT INTO bill_item VALUES
    (1, 1, 2), (1, 3, 2), (2, 4, 5), (2, 3, 2), (2, 6, 6), (3, 2, 1), (4, 5, 3), (5, 4, 1);
