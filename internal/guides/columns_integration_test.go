//go:build integration

package guides

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/testdb"
)

// columnsPython reads and writes columns of a row, one of them numeric and one that is NULL. Then its file takes no more records,
// and it goes on.
const columnsPython = `
import sys, threading
import psycopg
from isowatch_capture import Client, Recorder

url, path = sys.argv[1:3]
recorder = Recorder(path)

def work(n):
    client = Client(recorder, f"worker-{n}")
    with psycopg.connect(url, autocommit=True) as c:
        for i in range(20):
            try:
                with client.transaction(c) as t:
                    price = t.get("items", 1, "price")
                    t.put("items", 1, "stock", i)
                    t.get("items", 1, "price")
                    t.get("items", 1, "note")
                    t.put("items", 1, "price", price + 1)
            except psycopg.Error:
                pass

with psycopg.connect(url, autocommit=True) as c:
    c.execute("CREATE TABLE IF NOT EXISTS items (id int PRIMARY KEY, price numeric, stock int, note text)")
    with Client(recorder, "setup").transaction(c) as t:
        if t.get("items", 1, "price") is None:
            t.insert("items", 1, "price", 14)
workers = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for w in workers:
    w.start()
for w in workers:
    w.join()
if recorder.lost:
    sys.exit("records are lost")
recorder.file.close()
client = Client(recorder, "late")
with psycopg.connect(url, autocommit=True) as c, client.transaction(c) as t:
    c.execute("INSERT INTO items (id) VALUES (2) ON CONFLICT DO NOTHING")
    t.put("items", 2, "note", "there")
with psycopg.connect(url) as c:
    note = c.execute("SELECT note FROM items WHERE id = 2").fetchone()[0]
if recorder.lost != 1 or note != "there":
    sys.exit(f"{recorder.lost} records are lost, the note is {note}")
`

const columnsJava = `
import java.nio.file.Path;
import java.sql.*;

public class Columns {
    public static void main(String[] args) throws Exception {
        Capture capture = new Capture(Path.of(args[1]));
        try (Connection c = DriverManager.getConnection(args[0])) {
            try (Statement s = c.createStatement()) {
                s.execute("CREATE TABLE IF NOT EXISTS items (id bigint PRIMARY KEY, price bigint, stock bigint, note bigint)");
            }
            Capture.Client client = capture.new Client("worker-1");
            client.transaction(c, Connection.TRANSACTION_SERIALIZABLE, t -> {
                if (t.get("items", 1, "price") == null) t.insert("items", 1, "price", 14);
            });
            for (int i = 0; i < 20; i++) {
                long n = i;
                client.transaction(c, Connection.TRANSACTION_SERIALIZABLE, t -> {
                    long price = t.get("items", 1, "price");
                    t.put("items", 1, "stock", n);
                    t.get("items", 1, "price");
                    if (t.get("items", 1, "note") != null) throw new IllegalStateException("NULL is no number");
                    t.put("items", 1, "price", price + 1);
                });
            }
        }
        if (capture.lost() != 0) throw new IllegalStateException("records are lost");
    }
}
`

// TestColumns: code of the pages that reads and writes several columns of a row, in a process that is started twice with one file.
// No finding may come of it, with the defaults of check and of run.
func TestColumns(t *testing.T) {
	for _, c := range []struct {
		page        string
		guide       func(*testing.T) *guide
		file, text  string
		build, once string
	}{
		{"python.md", pythonGuide, "columns.py", columnsPython, "", `python3 columns.py "$DATABASE_URL" columns.jsonl`},
		{"java.md", javaGuide, "Columns.java", columnsJava, "javac -cp . Capture.java Columns.java", `java -cp ".:$(echo *.jar | tr ' ' :)" Columns "$DATABASE_URL" columns.jsonl`},
	} {
		t.Run(c.page, func(t *testing.T) {
			g := c.guide(t)
			url := testdb.Postgres(t)
			if err := os.WriteFile(filepath.Join(g.dir, c.file), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			script := strings.Join([]string{c.build, c.once, c.once,
				"monitor check --expect postgresql/serializable columns.jsonl",
				"monitor run --stdin --http off --data columns --expect postgresql/serializable <columns.jsonl || test $? = 2",
				"monitor findings --data columns"}, "\n")
			said, err := shell(t, g.dir, script, g.bins, "DATABASE_URL="+g.url(url))
			if err != nil || strings.Contains(said, "VIOLATED") || strings.Contains(said, "contradictory") || !strings.Contains(said, "no violation found: ") {
				t.Errorf("%v\n%s", err, said)
			}
		})
	}
}
