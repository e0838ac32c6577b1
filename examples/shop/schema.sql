CREATE TABLE stock (product text PRIMARY KEY, n integer NOT NULL CHECK (n >= 0));
CREATE TABLE orders (id text PRIMARY KEY, product text NOT NULL REFERENCES stock, quantity integer NOT NULL);
