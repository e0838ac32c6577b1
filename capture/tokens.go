package capture

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/isowatch/isowatch/event/record"
)

// maxNested is how deep a plain value may be nested: the record, its operations, a
// range's rows and their objects lie around it.
const maxNested = record.MaxDepth - 8

var (
	errNested = errors.New("the value is nested too deep")
	errTwice  = errors.New("the value has an object with one field twice")
)

// container is an array or object that is being written.
type container struct {
	names map[string]bool // nil: an array
	n     int             // names and values so far
}

// appendTokens appends the canonical text of one JSON value, and refuses what the format
// refuses. That is a name that comes twice in one object, or a value that is nested too deep.
func appendTokens(dst, text []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var open []container
	for {
		token, err := d.Token()
		if err != nil {
			return dst, err
		}
		if delim, ok := token.(json.Delim); ok && (delim == ']' || delim == '}') {
			dst = append(dst, byte(delim))
			open = open[:len(open)-1]
		} else {
			if len(open) > 0 {
				if dst, err = open[len(open)-1].before(dst, token); err != nil {
					return dst, err
				}
			}
			switch token := token.(type) {
			case json.Delim:
				dst = append(dst, byte(token))
				c := container{}
				if token == '{' {
					c.names = map[string]bool{}
				}
				if open = append(open, c); len(open) > maxNested {
					return dst, errNested
				}
			default:
				dst = appendScalar(dst, token)
			}
		}
		if len(open) == 0 {
			return dst, nil
		}
	}
}

// before appends what stands before the next name or value of c.
func (c *container) before(dst []byte, token json.Token) ([]byte, error) {
	isName := c.names != nil && c.n%2 == 0
	if isName {
		name, _ := token.(string)
		if c.names[name] {
			return dst, errTwice
		}
		c.names[name] = true
	}
	c.n++
	switch {
	case c.names != nil && !isName:
		return append(dst, ':'), nil
	case c.n > 1:
		return append(dst, ','), nil
	}
	return dst, nil
}

func appendScalar(dst []byte, token json.Token) []byte {
	switch token := token.(type) {
	case string:
		return record.AppendQuoted(dst, token)
	case json.Number:
		return append(dst, token...)
	case bool:
		if token {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	}
	return append(dst, "null"...)
}
