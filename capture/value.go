package capture

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/isowatch/isowatch/event/record"
)

// appendValue appends the canonical JSON of v, as the format has it. With plain it
// must fit into a record as it is.
func appendValue(dst []byte, v any, plain bool) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case string:
		return record.AppendQuoted(dst, validText(v)), nil
	case []byte:
		if v == nil {
			return append(dst, "null"...), nil
		}
		return record.AppendQuoted(dst, validText(string(v))), nil
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case int32:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case uint64:
		return strconv.AppendUint(dst, v, 10), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case time.Time:
		dst = append(dst, '"')
		return append(v.UTC().AppendFormat(dst, time.RFC3339Nano), '"'), nil
	case driver.Valuer:
		value, err := asked(func() (any, error) { return driver.DefaultParameterConverter.ConvertValue(v) })
		if err != nil {
			return dst, err
		}
		return appendValue(dst, value, plain) // which is not a Valuer any more
	}
	text, err := asked(func() ([]byte, error) { return json.Marshal(v) })
	if err != nil {
		return dst, err
	}
	if !plain && utf8.Valid(text) && bytes.IndexByte(text, '\\') < 0 {
		return append(dst, text...), nil
	}
	return appendTokens(dst, text)
}

// asked is the answer of a method of the value. A method that panics must not end the service
// because it is watched.
func asked[T any](method func() (T, error)) (answer T, err error) {
	defer func() {
		if what := recover(); what != nil {
			err = fmt.Errorf("a method of the value panics: %v", what)
		}
	}()
	return method()
}

// validLabels is a copy of labels: the caller may go on with them.
func validLabels(labels map[string]string) map[string]string {
	if len(labels) == 0 {
		return nil
	}
	valid := make(map[string]string, len(labels))
	for name, text := range labels {
		valid[validText(name)] = validText(text)
	}
	return valid
}

// validText is s itself, or, where it is not UTF-8, with each wrong byte as U+FFFD
// and two hexadecimal digits, so that different texts stay different.
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b.WriteString("\ufffd" + strconv.FormatUint(uint64(s[i]), 16))
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}
