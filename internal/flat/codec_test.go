package flat

import (
	"bytes"
	"strings"
	"testing"
	"unsafe"
)

type point struct {
	X, Y uint32
	On   bool
	Row  [3]int16
}

// readAs writes one section with the values and reads it as another type.
func readAs[From, To any](t *testing.T, name string, from ...From) (to []To, err error) {
	t.Helper()
	r := Reader{Bytes: Append(NewWriter(nil), name, from).Bytes()}
	Read(&r, name, &to)
	if r.Err == nil && len(r.Bytes) > 0 {
		t.Errorf("%d bytes are left", len(r.Bytes))
	}
	return to, r.Err
}

func TestFieldsAreTakenOverByName(t *testing.T) {
	from := []point{{X: 1, Y: 2, On: true, Row: [3]int16{-1, 2, -3}}, {X: 1 << 31}}
	same, err := readAs[point, point](t, "points", from...)
	if err != nil || len(same) != 2 || same[0] != from[0] || same[1] != from[1] {
		t.Errorf("the same layout: %v, %v", same, err)
	}
	type swapped struct {
		Y, X uint32
		_    [0]byte `gone:"On"`
		_    [0]byte `gone:"Row"`
	}
	if got, err := readAs[point, swapped](t, "points", from...); err != nil || got[0] != (swapped{Y: 2, X: 1}) || got[1].X != 1<<31 {
		t.Errorf("two fields swapped: %v, %v", got, err)
	}
	type grown struct {
		News int64
		Row  [4]int64
		_    uint32 `gone:"Y"`
		X    uint64
		On   bool
	}
	if got, err := readAs[point, grown](t, "points", from...); err != nil || got[0] != (grown{X: 1, On: true, Row: [4]int64{-1, 2, -3, 0}}) {
		t.Errorf("fields that grew, came and went: %v, %v", got, err)
	}
	type inner struct{ a, b uint8 }
	type outer struct{ in [2]inner }
	type renamed struct {
		inside [2]inner `was:"in"`
	}
	if got, err := readAs[outer, renamed](t, "o", outer{[2]inner{{1, 2}, {3, 4}}}); err != nil || got[0] != (renamed{[2]inner{{1, 2}, {3, 4}}}) {
		t.Errorf("a field with another name: %v, %v", got, err)
	}
	type exported struct {
		In [2]struct{ A, B uint8 }
	}
	if got, err := readAs[outer, exported](t, "o", outer{[2]inner{{1, 2}, {3, 4}}}); err != nil || got[0].In[1].B != 4 {
		t.Errorf("fields that became exported: %v, %v", got, err)
	}
	if got, err := readAs[exported, renamed](t, "o", exported{}); err != nil || len(got) != 1 {
		t.Errorf("fields that are exported no longer, and one with another name: %v, %v", got, err)
	}
	if got, err := readAs[uint16, uint64](t, "n", 7, 65535); err != nil || got[1] != 65535 {
		t.Errorf("numbers: %v, %v", got, err)
	}
}

func TestCodecRefuses(t *testing.T) {
	type shrunk struct {
		X uint8
		_ [0]byte `gone:"Y"`
		_ [0]byte `gone:"On"`
		_ [0]byte `gone:"Row"`
	}
	type signed struct{ X int32 }
	type lost struct {
		X, Y uint32
		Row  [3]int16
	}
	for _, c := range []struct {
		what, want string
		err        func() error
	}{
		{"a number without room", `field "x"`, func() error { _, err := readAs[point, shrunk](t, "p", point{X: 256}); return err }},
		{"another kind", `field "x" was u4, and is i4`, func() error { _, err := readAs[point, signed](t, "p", point{}); return err }},
		{"a field that is lost", `field "on" is not known`, func() error { _, err := readAs[point, lost](t, "p", point{}); return err }},
		{"another section", `"a" comes where "b" was expected`, func() error {
			r := Reader{Bytes: Append(NewWriter(nil), "a", []uint32{1}).Bytes()}
			var s []uint32
			Read(&r, "b", &s)
			return r.Err
		}},
		{"several values for one", `"a" holds 2 values`, func() error {
			r := Reader{Bytes: Append(NewWriter(nil), "a", []uint32{1, 2}).Bytes()}
			var v uint32
			ReadValue(&r, "a", &v)
			return r.Err
		}},
	} {
		if err := c.err(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
	whole := Append(NewWriter(nil), "points", []point{{X: 1}, {X: 2}}).Bytes()
	for n := range whole {
		var s []point
		r := Reader{Bytes: whole[:n]}
		if Read(&r, "points", &s); r.Err == nil {
			t.Errorf("%d of %d bytes are read as %v", n, len(whole), s)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(Append(NewWriter(nil), "points", []point{{X: 1, Row: [3]int16{1, 2, 3}}}).Bytes())
	f.Add(Append(NewWriter(nil), "points", []struct{ Row [2]int64 }{{}}).Bytes())
	f.Add(Append(NewWriter(nil), "points", []uint64{1}).Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		r := Reader{Bytes: b}
		var s []point
		Read(&r, "points", &s)
		if r.Err != nil && s != nil {
			t.Errorf("%v, and values", r.Err)
		}
	})
}

func TestGapsAreZero(t *testing.T) {
	type gappy struct {
		A uint8
		B uint32
		C bool
	}
	var s [2]gappy
	memory := unsafe.Slice((*byte)(unsafe.Pointer(&s)), unsafe.Sizeof(s))
	for i := range memory {
		memory[i] = 1
	}
	got := Append(NewWriter(nil), "s", s[:]).Bytes()
	want := []byte{1, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0}
	if end := got[len(got)-24:]; !bytes.Equal(end, append(want, want...)) {
		t.Errorf("% x", end)
	}
}
