"""A database client for `monitor probe "exec:python3 client.py FILE"`.

Each line of standard input is a transaction, and gets one line of answer. This one keeps
its data in an SQLite file; put your own database in its place.
"""
import json
import sqlite3
import sys

TABLES = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS registers (k TEXT PRIMARY KEY, v TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS lists (k TEXT PRIMARY KEY, v TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS counters (k TEXT PRIMARY KEY, n INTEGER NOT NULL, ver INTEGER NOT NULL);
"""


def run(db, op):
    """Runs one operation, and puts what it found into it."""
    what, key, kind = op["op"], op.get("key"), op.get("kind", "register")
    value = json.dumps(op.get("value"))
    if what == "r" and kind == "counter":
        row = db.execute("SELECT n, ver FROM counters WHERE k = ?", (key,)).fetchone()
        op["value"], op["version"] = row or (None, "")
    elif what == "r" and kind == "list":
        row = db.execute("SELECT v FROM lists WHERE k = ?", (key,)).fetchone()
        op["value"] = json.loads("[" + row[0] + "]") if row else []
    elif what == "r":
        row = db.execute("SELECT v FROM registers WHERE k = ?", (key,)).fetchone()
        op["value"] = json.loads(row[0]) if row else None
    elif what == "w":
        db.execute("INSERT INTO registers VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = excluded.v", (key, value))
    elif what == "append":
        db.execute("INSERT INTO lists VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = v || ',' || excluded.v", (key, value))
    elif what == "insert":
        db.execute("INSERT INTO registers VALUES (?, ?)", (key, value))
    elif what == "inc":
        db.execute("INSERT INTO counters VALUES (?, ?, 1) ON CONFLICT (k) DO UPDATE SET n = n + excluded.n, ver = ver + 1", (key, op["value"]))
        (op["version"],) = db.execute("SELECT ver FROM counters WHERE k = ?", (key,)).fetchone()
        if op["version"] > 1:
            op["prev_version"] = op["version"] - 1  # the update raised it by one
    elif what == "delete":
        if not db.execute("DELETE FROM %ss WHERE k = ?" % kind, (key,)).rowcount:
            op.update(op="r", value=None)  # there was nothing
    elif what == "range":
        rows = db.execute("SELECT k, v FROM registers WHERE k >= ? AND k < ? ORDER BY k", (op["from"], op["to"]))
        op["result"] = [{"key": k, "value": json.loads(v)} for k, v in rows]


def transact(db, ops):
    try:
        db.execute("BEGIN IMMEDIATE")
        for op in ops:
            run(db, op)
    except sqlite3.Error as error:  # before the commit: nothing took effect
        if db.in_transaction:
            db.execute("ROLLBACK")
        return {"status": "aborted", "error": str(error)}
    try:
        db.execute("COMMIT")
    except sqlite3.Error as error:  # nobody knows; only an answer that is certain may say more
        return {"status": "unknown", "error": str(error)}
    return {"status": "committed", "ops": ops}


def main():
    db = sqlite3.connect(sys.argv[1], timeout=10, isolation_level=None)
    db.executescript(TABLES)
    for line in sys.stdin:
        print(json.dumps(transact(db, json.loads(line)["ops"])), flush=True)


main()
