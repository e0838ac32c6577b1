package history

import (
	"errors"
	"testing"
	"testing/fstest"

	"github.com/isowatch/isowatch/event"
)

// fuzzRead reads what it is given: an error names a place, and what was read is
// decoded again from JSON with the same hashes.
func fuzzRead(t *testing.T, f Format, data []byte) {
	if len(data) > 1<<16 {
		return
	}
	_, err := readAll(t, f, data)
	var fault *Fault
	if err != nil && !errors.As(err, &fault) {
		t.Fatalf("%v names no place", err)
	}
}

func FuzzDBCop(f *testing.F) {
	f.Add(bincodeOf("Galera", [][]dbcopTestTxn{{{[]dbcopTestEvent{{true, 1, 2, true}, {false, 1, 0, true}}, true}, {nil, false}}}))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzRead(t, DBCop, data) })
}

func FuzzPolySI(f *testing.F) {
	f.Add([]byte("w(0,0,0,0)\nr(0,0,1,1,SER)\nw(0,-1,1,-1)\nw(1,2,1,1)\n"))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzRead(t, PolySI, data) })
}

func FuzzAWDIT(f *testing.F) {
	f.Add([]byte("w 0 1\n--\nr 0 1\n==\nr 0 -1"))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzRead(t, AWDIT, data) })
}

func FuzzViper(f *testing.F) {
	f.Add([]byte(`{"value": [["w", 1, 2, true], ["r", 1, "nil", false], ["range", 0, 9, [{"id":1,"val":2}], []]], "isInitial": true}`))
	f.Add([]byte("{\"value\": [[\"range\",\"nil\",\"nil\",[],[],true]]}\n{\"value\":[[\"d\",3,4,1,2,3]]}"))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzRead(t, Viper, data) })
}

func FuzzCobra(f *testing.F) {
	f.Add(cobraOf('S', 1, 'W', 1, 2, 3, 'R', 1, 1, 2, 3, 'C', 1, 'S', 2))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := &event.Batch{Partitions: []string{"file:x"}}
		r := Reader{Batch: b, Flush: func() error { return nil }}
		err := r.ReadDir(Cobra, fstest.MapFS{"T1.log": {Data: data}})
		var fault *Fault
		if err != nil && !errors.As(err, &fault) {
			t.Fatalf("%v names no place", err)
		}
		recordsOf(t, b)
	})
}

// Recognising a format reads nothing beyond the head.
func FuzzDetect(f *testing.F) {
	for _, s := range []string{"", "{:", `[{"sts":`, "w(1", "w 1", "(", "INFO ", `{"params"`, "\x12"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		if _, err := ParseFormat(string(Detect(head))); err != nil {
			t.Fatal(err)
		}
	})
}
