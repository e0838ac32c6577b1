package history

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/isowatch/isowatch/event"
)

// A transaction's record is told as it stands in the file: its lines, its object, or its bytes, with its place there. A
// transaction that goes on behind another one is told piece by piece.
func TestCame(t *testing.T) {
	t.Parallel()
	bincode := bincodeOf("x", [][]dbcopTestTxn{{{[]dbcopTestEvent{{true, 5, 6, true}, {false, 7, 8, false}}, true}, {nil, false}}, {{nil, true}}})
	first := 5*8 + 3*8 + 1 + 8 + 8 // behind the head, one letter of text, and the counts of sessions and transactions
	cobra := cobraOf('S', 0x10, 'W', 1, 5, 6, 'C', 0x10, 'S', 0x11, 'A', 0x11, 'S', 0x12, 'W', 3, 5, 6)
	lines := []string{"r(1, 2", "w(1,2,0,0)", "r(1,2,0,0)\r", "", "w(3,4,1,0)", " ", "w(5,6,0,0)"}
	object := `{"events": [{"Write":  {"variable": 0, "version": 1}}], "committed": true}`
	for name, c := range map[string]struct {
		format Format
		text   string
		dir    fstest.MapFS
		want   []string
	}{
		"polysi": {PolySI, strings.Join(lines[1:], "\n"), nil, []string{
			"S0.T0 file:x:1 " + lines[1] + "\n" + lines[2], "S1.T0 file:x:4 " + lines[4], "S0.T0 file:x:6 " + lines[6],
		}},
		"aborted writes of polysi": {PolySI, "w(1,2,0,-1)\nw(1,3,0,-1)\n", nil, []string{"S0.T-1@1 file:x:1 w(1,2,0,-1)", "S0.T-1@2 file:x:2 w(1,3,0,-1)"}},
		"awdit": {AWDIT, "w 1 2\nw 3 4 \n-\nr 1 2\n=\nr 3 4", nil, []string{
			"S1.T1 file:x:1 w 1 2\nw 3 4 ", "S1.T2 file:x:4 r 1 2", "S2.T1 file:x:6 r 3 4",
		}},
		"dbcop": {DBCop, string(bincode), nil, []string{
			fmt.Sprintf("S1.T1 file:x:%d %s", first, bincode[first:first+8+2*18+1]), fmt.Sprintf("S1.T2 file:x:%d %s", first+45, bincode[first+45:first+54]),
			fmt.Sprintf("S2.T1 file:x:%d %s", first+62, bincode[first+62:]),
		}},
		"dbcop's JSON": {DBCopJSON, "[[" + object + " , " + object + "]]", nil, []string{"S1.T1 file:x:2 " + object, fmt.Sprintf("S1.T2 file:x:%d %s", 2+len(object)+3, object)}},
		"cobra": {Cobra, "", fstest.MapFS{"T2.log": {Data: cobra}, "T3.log": {Data: cobra[:9+25+9]}}, []string{
			"S2.T10 file:x/T2.log:0 " + string(cobra[:43]), "S2.T11 file:x/T2.log:43 " + string(cobra[43:61]), "S2.T12 file:x/T2.log:61 " + string(cobra[61:]),
			"S3.T10 file:x/T3.log:0 " + string(cobra[:43]),
		}},
		"viper": {Viper, "", fstest.MapFS{"json/J3.log": {Data: []byte(`{"value":[["w",1,2,true]]}` + "\n\n" + `{"value":  [["r",1,2,true]], "isInitial": true}`)}}, []string{
			`S3.T1 file:x/json/J3.log:1 {"value":[["w",1,2,true]]}`, `S3.T2 file:x/json/J3.log:3 {"value":  [["r",1,2,true]], "isInitial": true}`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := &event.Batch{Partitions: []string{"file:x"}}
			var got []string
			r := Reader{Batch: b, Flush: func() error { return nil }, Came: func(id string, pos event.Position, records [][]byte) {
				for _, text := range records {
					got = append(got, id+" "+b.Where(pos)+" "+string(text))
				}
			}}
			var err error
			if c.dir != nil {
				err = r.ReadDir(c.format, c.dir)
			} else {
				err = r.Read(c.format, strings.NewReader(c.text))
			}
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.want) {
				t.Errorf("told\n%q\nwant\n%q", got, c.want)
			}
			ids := map[string]bool{}
			for i := range b.Txns {
				ids[b.Text(b.Txns[i].ID)] = true
			}
			for _, text := range got {
				if id, _, _ := strings.Cut(text, " "); !ids[id] {
					t.Errorf("no transaction is called %s", id)
				}
			}
		})
	}
}
