package rows

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
)

// keyOf is the name under which a row is recorded.
func (t *Table) keyOf(key any) (string, error) {
	s := keyText(key)
	if t.Ranges != ByNumber {
		return t.Name + "/" + s, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return "", t.fault("the key %q is not an integer of 64 bits, which ByNumber needs", s)
	}
	return t.Name + "/" + ordered(n), nil
}

// ordered is n as a text; the texts are in the order of the numbers. Negative ones are
// written as the distance from the least of all.
func ordered(n int64) string {
	if n < 0 {
		return fmt.Sprintf("-%019d", n-math.MinInt64)
	}
	return fmt.Sprintf("%019d", n)
}

// keyText is a key as text.
func keyText(key any) string {
	switch k := key.(type) {
	case string:
		return k
	case []byte:
		return string(k)
	case fmt.Stringer:
		return k.String()
	case [16]byte:
		return fmt.Sprintf("%x-%x-%x-%x-%x", k[:4], k[4:6], k[6:8], k[8:10], k[10:])
	}
	if v := reflect.ValueOf(key); v.Kind() == reflect.Pointer && !v.IsNil() {
		return keyText(v.Elem().Interface())
	}
	return fmt.Sprint(key)
}
