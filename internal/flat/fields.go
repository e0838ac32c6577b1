package flat

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// field is a number or a row of numbers within a value.
type field struct {
	name   string // of nested ones joined by dots; "" where the value itself is the number
	kind   byte   // 'u' unsigned, 'i' signed, 'b' boolean, 'f' floating point
	size   int    // of one number, in bytes
	offset int
	count  int // of numbers
	// was are other names that the field had in earlier layouts.
	was []string
}

// gap is memory of a value that no field has.
type gap struct{ from, to int }

// fieldsOf describes the memory of a T: its size, and for each field "name kind
// size*count@offset". A field that had another name in an earlier layout names it by the tag
// `was:"name"`.
//
// A field of an earlier layout that is no longer needed is named by the tag `gone:"name"` of a field
// called _.
//
// Names are written with a small first letter, and read in either way. So a field keeps its name when it
// becomes exported, or is no longer.
//
// It panics for a T with pointers, which a snapshot cannot hold. That is a fault of the
// program, and any test that writes a T finds it.
func fieldsOf[T any]() (text string, gaps []gap) {
	t := reflect.TypeFor[T]()
	if text, ok := plain(t.Kind()); ok {
		return text, nil
	}
	b := strconv.AppendInt(make([]byte, 0, 512), int64(t.Size()), 10)
	end := 0 // of the fields so far: they come in the order of memory
	for _, f := range appendFields(make([]field, 0, 32), t, "", 0, nil) {
		if f.offset > end {
			gaps = append(gaps, gap{end, f.offset})
		}
		end = f.offset + f.size*f.count
		b = append(append(b, ','), f.name...)
		b = strconv.AppendInt(append(b, ' ', f.kind), int64(f.size), 10)
		b = strconv.AppendInt(append(b, '*'), int64(f.count), 10)
		b = strconv.AppendInt(append(b, '@'), int64(f.offset), 10)
	}
	if size := int(t.Size()); end < size {
		gaps = append(gaps, gap{end, size})
	}
	return string(b), gaps
}

// plain are the texts of the kinds that most sections have.
func plain(k reflect.Kind) (text string, ok bool) {
	switch k {
	case reflect.Uint8:
		return "1, u1*1@0", true
	case reflect.Uint32:
		return "4, u4*1@0", true
	case reflect.Uint64:
		return "8, u8*1@0", true
	case reflect.Int64:
		return "8, i8*1@0", true
	case reflect.Bool:
		return "1, b1*1@0", true
	}
	return "", false
}

// appendFields appends the fields of t, which lies at the offset of a value, under the name.
// Fields called _ are left out.
func appendFields(dst []field, t reflect.Type, name string, offset int, was []string) []field {
	if k := numberKind(t.Kind()); k != 0 {
		return append(dst, field{name, k, int(t.Size()), offset, 1, was})
	}
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Name == "_" {
				continue
			}
			var before []string
			if old := f.Tag.Get("was"); old != "" {
				before = append(before, under(name, small(old)))
			}
			for _, old := range was {
				before = append(before, under(old, small(f.Name)))
			}
			dst = appendFields(dst, f.Type, under(name, small(f.Name)), offset+int(f.Offset), before)
		}
		return dst
	case reflect.Array:
		if k := numberKind(t.Elem().Kind()); k != 0 {
			return append(dst, field{name, k, int(t.Elem().Size()), offset, t.Len(), was})
		}
		for i := range t.Len() {
			at := strconv.Itoa(i)
			var before []string
			for _, old := range was {
				before = append(before, under(old, at))
			}
			dst = appendFields(dst, t.Elem(), under(name, at), offset+i*int(t.Elem().Size()), before)
		}
		return dst
	}
	panic(fmt.Sprintf("flat: %s %v is not of fixed size", name, t))
}

func under(outer, name string) string {
	if outer == "" {
		return name
	}
	return outer + "." + name
}

// small is the name with a small first letter in each of its parts.
func small(name string) string {
	b := []byte(name)
	for i := range b {
		if (i == 0 || b[i-1] == '.') && 'A' <= b[i] && b[i] <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
	return string(b)
}

func numberKind(k reflect.Kind) byte {
	switch k {
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return 'u'
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return 'i'
	case reflect.Bool:
		return 'b'
	case reflect.Float32, reflect.Float64:
		return 'f'
	}
	return 0
}

// parseFields is the inverse of fieldsOf.
func parseFields(text string) (size int, fields []field, err error) {
	parts := strings.Split(text, ",")
	if size, err = strconv.Atoi(parts[0]); err != nil || size <= 0 {
		return 0, nil, fmt.Errorf("flat: %q are not fields", text)
	}
	for _, part := range parts[1:] {
		var f field
		name, rest, ok := strings.Cut(part, " ")
		f.name = small(name)
		if !ok {
			return 0, nil, fmt.Errorf("flat: %q is not a field", part)
		}
		if _, err := fmt.Sscanf(rest, "%c%d*%d@%d", &f.kind, &f.size, &f.count, &f.offset); err != nil {
			return 0, nil, fmt.Errorf("flat: %q is not a field: %w", part, err)
		}
		if f.size < 1 || f.size > 8 || f.count < 0 || f.offset < 0 || f.count > size || f.offset > size-f.size*f.count {
			return 0, nil, fmt.Errorf("flat: field %q does not lie within %d bytes", part, size)
		}
		fields = append(fields, f)
	}
	return size, fields, nil
}
