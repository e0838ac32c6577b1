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
	compareStream(t, f, data)
}

func FuzzDBCop(f *testing.F) {
	f.Add(bincodeOf("Galera", [][]dbcopTestTxn{{{[]dbcopTestEvent{{true, 1, 2, true}, {false, 1, 0, true}}, true}, {nil, false}}}))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzRead(t, DBCop, data) })
}

func FuzzPolySI(f *testing.F) {
	f.Add([]byte("r(1,1,0,-9223372036854775808)\nw(1,1,0,9223372036854775807)\n"))
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

func FuzzElle(f *testing.F) {
	f.Add([]byte(`{:type :invoke, :process 0, :value [[:append x 1] [:r x nil]], :time 12, :index 0} #_ x ; c`), false)
	f.Add([]byte(`({:type :ok :f :cas :value [1 2]} {:type :ok :f :read :value "a\n\u00e9"})`), false)
	f.Add([]byte(`[{:type :ok :f :transfer :value {:from 1 :to 2 :amount 3}} {:type :ok :f :read :value {1 2}}]`), false)
	f.Add([]byte(`{:type :ok :f :put :key "1" :value "b"} {:type :ok :f :get :key "1" :value "bb"}`), false)
	f.Add([]byte(`{:type :ok :f :add :value 1} {:type :info :f :read :value #{1 \a 1/2}}{:type :ok :f :acquire}`), false)
	f.Add([]byte(`[{"type":"ok","value":[["append","x",1],["r","x",[1]]],"time":14,"index":2}]`), true)
	f.Fuzz(func(t *testing.T, data []byte, json bool) {
		if json {
			fuzzRead(t, ElleJSON, data)
		} else {
			fuzzRead(t, EDN, data)
		}
	})
}

func FuzzPorcupine(f *testing.F) {
	f.Add([]byte("INFO  jepsen.util - 0\t:invoke\t:cas\t[1 2]\nINFO  jepsen.util - 0\t:fail\t:cas\t[1 2]\n"))
	f.Add([]byte(`{:process 1 :type :ok :f :append :key "1" :value "b"} {:type :ok :f :get :key "1" :value "bb"}`))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzRead(t, Porcupine, data) })
}

func FuzzTimeKiller(f *testing.F) {
	f.Add([]byte(`[{"tid":1,"sid":"a","sts":{"p":"3","l":1},"cts":{"p":4},"ops":[{"t":"a","k":"l","v":1},{"t":"r","k":"l","v":[1]}]}]`))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzRead(t, TimeKiller, data) })
}

func FuzzDBCopJSON(f *testing.F) {
	f.Add([]byte(`{"params":{"id":0},"data":[[{"events":[{"Write":{"variable":0,"version":1}},{"Read":{"variable":0,"version":null}}],"committed":true}]]}`))
	f.Add([]byte(`[[{"events":[{"write":true,"variable":1,"value":2,"success":true}],"success":false}]]`))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzRead(t, DBCopJSON, data) })
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
