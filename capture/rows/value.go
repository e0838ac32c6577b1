package rows

import (
	"database/sql/driver"
	"encoding/json"
	"reflect"
	"time"
	"unicode/utf8"
)

// valueOf is the recorded value of a row's columns. They are values, or pointers to values.
func (t *Table) valueOf(columns []any) any {
	if len(t.Columns) == 1 {
		return plainOf(columns[0])
	}
	row := make(map[string]any, len(columns))
	for i, c := range t.Columns {
		row[c] = inObject(plainOf(columns[i]))
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

// inObject is a value as it counts alone. encoding/json would write a text of bytes in base64, a time
// in the zone that it has, and a sql.NullInt64 as an object.
func inObject(v any) any {
	switch x := v.(type) {
	case time.Time:
		return x.UTC()
	case []byte:
		if x == nil {
			return nil
		}
		if utf8.Valid(x) {
			return string(x)
		}
	case driver.Valuer:
		return valuer{x}
	}
	return v
}

// valuer asks for the value when it is encoded: whoever encodes bears what it panics with.
type valuer struct{ driver.Valuer }

// MarshalJSON implements [json.Marshaler].
func (v valuer) MarshalJSON() ([]byte, error) {
	value, err := driver.DefaultParameterConverter.ConvertValue(v.Valuer)
	if err != nil {
		return nil, err
	}
	return json.Marshal(inObject(plainOf(value)))
}
