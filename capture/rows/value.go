package rows

import (
	"reflect"
	"time"
)

// valueOf is what is recorded of a row's columns, which are values or pointers to them.
func (t *Table) valueOf(columns []any) any {
	if len(t.Columns) == 1 {
		return plainOf(columns[0])
	}
	row := make(map[string]any, len(columns))
	for i, c := range t.Columns {
		row[c] = plainOf(columns[i])
	}
	return row
}

// plainOf is a value without pointers, so that what is written and what is read of it are the
// same. Databases keep microseconds.
func plainOf(v any) any {
	for p := reflect.ValueOf(v); p.Kind() == reflect.Pointer; p = reflect.ValueOf(v) {
		if p.IsNil() {
			return nil
		}
		v = p.Elem().Interface()
	}
	if at, ok := v.(time.Time); ok {
		return at.Truncate(time.Microsecond)
	}
	return v
}
