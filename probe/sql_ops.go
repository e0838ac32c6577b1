package probe

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/isowatch/isowatch/event"
)

// Statements, by what they do to which kind of object. "VERSION" is a column in a
// SELECT, and "RETURNING" what returns it after a write.
const (
	readRegister   = "SELECT v VERSION FROM registers WHERE k = ?"
	readList       = "SELECT v VERSION FROM lists WHERE k = ?"
	readCounter    = "SELECT n VERSION FROM counters WHERE k = ?"
	rangeRegisters = "SELECT k, v VERSION FROM registers WHERE k >= ? AND k < ? ORDER BY k"
	updateRegister = "UPDATE registers SET v = ? WHERE k = ? RETURNING"
	insertRegister = "INSERT INTO registers (k, v) VALUES (?, ?) RETURNING"
	insertCounter  = "INSERT INTO counters (k, n) VALUES (?, ?) RETURNING"
	deleteRegister = "DELETE FROM registers WHERE k = ?"
	deleteList     = "DELETE FROM lists WHERE k = ?"
	incCounter     = "UPDATE counters SET n = n + ? WHERE k = ? RETURNING"
	// Those that tell versions: countCounter raises it by one, and asks for it where the database
	// returns it; elsewhere readVersion does.
	readCounted  = "SELECT n, ver FROM counters WHERE k = ?"
	countCounter = "UPDATE counters SET n = n + ?, ver = ver + 1 WHERE k = ? COUNTED"
	readVersion  = "SELECT ver FROM counters WHERE k = ?"
	// upsertRegister and appendList stand for the dialect's own.
	upsertRegister = "upsert"
	appendList     = "append"
)

// tables are the names of the tables in statements.
var tables = regexp.MustCompile(`\b(registers|lists|counters)\b`)

// texts are the statements as the database takes them, by those above.
func (d *Dialect) texts() map[string]string {
	texts := map[string]string{upsertRegister: d.text(d.Upsert + " RETURNING"), appendList: d.text(d.Append + " RETURNING")}
	for _, t := range []string{
		readRegister, readList, readCounter, rangeRegisters, updateRegister, insertRegister, insertCounter, deleteRegister, deleteList, incCounter,
		readCounted, countCounter, readVersion,
	} {
		texts[t] = d.text(t)
	}
	return texts
}

func (d *Dialect) text(t string) string {
	if d.Prefix != "" {
		t = tables.ReplaceAllStringFunc(t, func(table string) string { return d.Prefix + table })
	}
	column, returning := "", ""
	if d.Version != "" {
		column, returning = ", "+d.Version, " RETURNING "+d.Version
	}
	t = strings.Replace(t, " VERSION", column, 1)
	if before, found := strings.CutSuffix(t, " RETURNING"); found {
		t = before + returning
	}
	counted := ""
	if d.Returning {
		counted = " RETURNING ver"
	}
	t = strings.Replace(t, " COUNTED", counted, 1)
	for n := 1; d.Numbered && strings.Contains(t, "?"); n++ {
		t = strings.Replace(t, "?", "$"+strconv.Itoa(n), 1)
	}
	return t
}

// Do implements [Session].
func (s *sqlSession) Do(ctx context.Context, op *Op) error {
	switch op.Kind {
	case event.Read:
		return s.read(ctx, op)
	case event.Range:
		return s.scan(ctx, op)
	case event.Append:
		return s.write(ctx, op, appendList, op.Key, op.Value)
	case event.Insert:
		if op.Data == event.Counter {
			err := s.write(ctx, op, insertCounter, op.Key, op.Value)
			if op.Versions {
				op.Version = "1"
			}
			return err
		}
		return s.write(ctx, op, insertRegister, op.Key, op.Value)
	case event.Write:
		if !op.Update && s.dialect.Upsert == "" {
			return s.put(ctx, op)
		}
		if !op.Update {
			return s.write(ctx, op, upsertRegister, op.Key, op.Value)
		}
		return s.change(ctx, op, updateRegister, op.Value, op.Key)
	case event.Delete:
		if op.Data == event.List {
			return s.change(ctx, op, deleteList, op.Key)
		}
		return s.change(ctx, op, deleteRegister, op.Key)
	case event.Inc:
		n, err := strconv.ParseInt(op.Value, 10, 64)
		if err != nil {
			return err
		}
		if op.Versions {
			return s.count(ctx, op, n)
		}
		return s.write(ctx, op, incCounter, n, op.Key)
	default:
		return fmt.Errorf("probe: %v is not an operation of SQL tables", op.Kind)
	}
}

// read reads the object and gives the answer its form.
func (s *sqlSession) read(ctx context.Context, op *Op) error {
	statement := map[event.DataKind]string{event.List: readList, event.Counter: readCounter}[op.Data]
	if statement == "" {
		statement = readRegister
	}
	into := []any{&op.Value}
	if op.Versions {
		statement = readCounted
	}
	if s.dialect.Version != "" || op.Versions {
		into = append(into, &op.Version)
	}
	err := s.tx.QueryRowContext(ctx, s.texts[statement], op.Key).Scan(into...)
	none := errors.Is(err, sql.ErrNoRows)
	switch {
	case err != nil && !none:
		return err
	case op.Data == event.List:
		op.Data = event.AnyKind // the array tells the kind
		op.Flags |= event.IsArray
		if op.Value != "" {
			op.Elems = strings.Split(op.Value, ",")
		}
		op.Value = "[" + op.Value + "]"
	case none:
		op.Flags |= event.NotFound
	}
	return nil
}

func (s *sqlSession) scan(ctx context.Context, op *Op) error {
	rows, err := s.tx.QueryContext(ctx, s.texts[rangeRegisters], op.From, op.To)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var row event.RecordRow
		into := []any{&row.Key, &row.Value}
		if s.dialect.Version != "" {
			into = append(into, &row.Version)
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		op.Rows = append(op.Rows, row)
	}
	return rows.Err()
}

// write runs a statement that writes one row, or fails.
func (s *sqlSession) write(ctx context.Context, op *Op, statement string, args ...any) error {
	written, err := s.affect(ctx, op, statement, args...)
	if err == nil && !written {
		err = fmt.Errorf("probe: %s of %q wrote nothing", op.Kind, op.Key)
	}
	return err
}

// count adds n to a counter, and tells its version and the one before.
func (s *sqlSession) count(ctx context.Context, op *Op, n int64) error {
	var version int64
	var err error
	if s.dialect.Returning {
		err = s.tx.QueryRowContext(ctx, s.texts[countCounter], n, op.Key).Scan(&version)
	} else if _, err = s.tx.ExecContext(ctx, s.texts[countCounter], n, op.Key); err == nil {
		err = s.tx.QueryRowContext(ctx, s.texts[readVersion], op.Key).Scan(&version)
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("probe: inc of %q wrote nothing", op.Key)
	}
	op.Version, op.PrevVersion = text(version), text(version-1)
	return err
}

// put updates a register, or inserts it.
func (s *sqlSession) put(ctx context.Context, op *Op) error {
	written, err := s.affect(ctx, op, updateRegister, op.Value, op.Key)
	if err != nil || written {
		return err
	}
	return s.write(ctx, op, insertRegister, op.Key, op.Value)
}

// change runs a statement that writes one row, or finds that there is none.
func (s *sqlSession) change(ctx context.Context, op *Op, statement string, args ...any) error {
	written, err := s.affect(ctx, op, statement, args...)
	if err == nil && !written {
		op.RecordOp = event.RecordOp{Kind: event.Read, Flags: event.NotFound, Key: op.Key}
	}
	return err
}

// affect runs a statement and says whether it wrote something, and the version that
// it made.
func (s *sqlSession) affect(ctx context.Context, op *Op, statement string, args ...any) (bool, error) {
	if s.dialect.Version != "" && statement != deleteRegister && statement != deleteList {
		err := s.tx.QueryRowContext(ctx, s.texts[statement], args...).Scan(&op.Version)
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		}
		return true, err
	}
	result, err := s.tx.ExecContext(ctx, s.texts[statement], args...)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}
