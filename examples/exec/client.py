"""A database client for `monitor probe "exec:python3 client.py FILE"`.

Each line of standard input is a transaction, and gets one line of answer. This one keeps
its data in an SQLite file; put your own database in its place.
"""
import json
import sqlite3
import sys

TABLES = """
PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS registers (k TEXT PRIMARY KEY, v TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS lists (k TEXT PRIMARY KEY, v TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS counters (k TEXT PRIMARY KEY, n INTEGER NOT NULL, ver INTEGER NOT NULL);
"""
WRITE = "INSERT INTO registers VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = excluded.v"
APPEND = "INSERT INTO lists VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = v || ',' || excluded.v"
INC = "INSERT INTO counters VALUES (?, ?, 1) ON CONFLICT (k) DO UPDATE SET n = n + excluded.n, ver = ver + 1"


def run(db, op):
    """Runs one operation, and puts what it found into it."""
    what, key, kind = op["op"], op.get("key"), op.get("kind", "register")
    if what == "r" and kind == "counter":
        row = db.execute("SELECT n, ver FROM counters WHERE k = ?", (key,)).fetchone()
        op["value"], op["version"] = row or (None, "")
    elif what == "r":
        row = db.execute("SELECT v FROM %ss WHERE k = ?" % kind, (key,)).fetchone()
        found = json.loads("[%s]" % row[0]) if row else []
        op["value"] = found if kind == "list" else found[0] if row else None
    elif what in ("w", "append", "insert"):
        sql = {"w": WRITE, "append": APPEND, "insert": "INSERT INTO registers VALUES (?, ?)"}[what]
        db.execute(sql, (key, json.dumps(op["value"])))
    elif what == "inc":
        db.execute(INC, (key, op["value"]))
        (op["version"],) = db.execute("SELECT ver FROM counters WHERE k = ?", (key,)).fetchone()
        if op["version"] > 1:
            op["prev_version"] = op["version"] - 1  # the update raised it by one
    elif what == "delete" and not db.execute("DELETE FROM %ss WHERE k = ?" % kind, (key,)).rowcount:
        op.update(op="r", value=None)  # there was nothing
    elif what == "range":
        rows = db.execute("SELECT k, v FROM registers WHERE k >= ? AND k < ? ORDER BY k", (op["from"], op["to"]))
        op["result"] = [{"key": k, "value": json.loads(v)} for k, v in rows]


def transact(db, ops):
    status = "aborted"  # before the commit nothing takes effect
    try:
        db.execute("BEGIN IMMEDIATE")
        for op in ops:
            run(db, op)
        status = "unknown"  # of a commit that fails nobody knows
        db.execute("COMMIT")
        return {"status": "committed", "ops": ops}
    except sqlite3.Error as error:
        if status == "aborted" and db.in_transaction:
            db.execute("ROLLBACK")
        return {"status": status, "error": str(error)}


db = sqlite3.connect(sys.argv[1], timeout=10, isolation_level=None)
db.executescript(TABLES)
for line in sys.stdin:
    print(json.dumps(transact(db, json.loads(line)["ops"])), flush=True)
