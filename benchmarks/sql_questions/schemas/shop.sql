CREATE TABLE category (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    parent_id INTEGER REFERENCES category (id)
);
CREATE TABLE product (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    category_id INTEGER NOT NULL REFERENCES category (id),
    "unit price" NUMERIC(10, 2) NOT NULL,
    stock INTEGER NOT NULL DEFAULT 0,
    discontinued INTEGER NOT NULL DEFAULT 0 CHECK (discontinued IN (0, 1))
);
CREATE TABLE customer (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    email TEXT UNIQUE,
    city TEXT,
    joined DATE NOT NULL
);
CREATE TABLE "order" (
    id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customer (id),
    placed DATE NOT NULL,
    shipped DATE,
    status TEXT NOT NULL DEFAULT 'open'
);
CREATE TABLE "order line" (
    order_id INTEGER NOT NULL REFERENCES "order" (id),
    product_id INTEGER NOT NULL REFERENCES product (id),
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    "unit price" NUMERIC(10, 2) NOT NULL,
    PRIMARY KEY (order_id, product_id)
);
CREATE TABLE review (
    id INTEGER PRIMARY KEY,
    product_id INTEGER NOT NULL REFERENCES product (id),
    customer_id INTEGER NOT NULL REFERENCES customer (id),
    stars INTEGER NOT NULL CHECK (stars BETWEEN 1 AND 5),
    comment TEXT,
    UNIQUE (product_id, customer_id)
);
CREATE VIEW order_total AS
SELECT order_id, SUM(quantity * "unit price") AS total
FROM "order line"
GROUP BY order_id;

INSERT INTO category VALUES
    (1, 'Home', NULL), (2, 'Kitchen', 1), (3, 'Garden', 1), (4, 'Office', NULL), (5, 'Knives', 2);
INSERT INTO product VALUES
    (1, 'Bread knife', 5, 24.5, 12, 0),
    (2, 'Kettle', 2, 39, 3, 0),
    (3, 'Watering can', 3, 15.25, 40, 0),
    (4, 'Stapler', 4, 8.9, 0, 1),
    (5, 'Desk lamp', 4, 54, 7, 0),
    (6, 'Teapot', 2, 29.9, 0, 0);
INSERT INTO customer VALUES
    (1, 'Ada Brook', 'ada@example.org', 'Leeds', '2022-03-14'),
    (2, 'Ben Okoro', 'ben@example.org', 'York', '2023-01-02'),
    (3, 'Chiara Conti', NULL, 'Leeds', '2023-06-30'),
    (4, 'Dag Lund', 'dag@example.net', NULL, '2024-02-11'),
    (5, 'Eve O''Hara', 'eve@example.net', 'Hull', '2024-05-19');
INSERT INTO "order" VALUES
    (101, 1, '2024-01-05', '2024-01-07', 'delivered'),
    (102, 2, '2024-01-20', '2024-01-29', 'delivered'),
    (103, 1, '2024-03-02', NULL, 'cancelled'),
    (104, 3, '2024-03-15', '2024-03-16', 'delivered'),
    (105, 4, '2024-04-01', NULL, 'open'),
    (106, 1, '2024-04-03', NULL, 'open');
INSERT INTO "order line" VALUES
    (101, 1, 1, 24.5), (101, 2, 1, 35), (102, 3, 4, 15.25), (103, 4, 2, 8.9),
    (104, 2, 2, 39), (104, 5, 1, 54), (105, 3, 1, 14), (106, 5, 3, 50);
INSERT INTO review VALUES
    (1, 1, 1, 5, 'Cuts like nothing else'), (2, 2, 1, 3, NULL), (3, 3, 2, 4, 'Does not leak'),
    (4, 2, 3, 2, 'Loud and slow'), (5, 5, 3, 5, NULL);
