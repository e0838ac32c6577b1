package event

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// Each kind of data can be stated in every form of a record, and all that publish the forms name it.
func TestDataKinds(t *testing.T) {
	published := map[string]string{}
	for _, name := range []string{"schema.json", "isowatch.proto", "../docs/format.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		published[name] = string(text)
	}
	for n, k := range dataKinds {
		r := Record{ID: "a", Status: Committed, Ops: []RecordOp{{Kind: Read, Data: k, Key: "x", Value: "1"}}}
		line := AppendJSON(nil, &r)
		for form, text := range map[string][]byte{"JSON": line, "proto": AppendProto(nil, &r)} {
			var b, again Batch
			var d Decoder
			if d.DecodeMessage(&b, Position{}, text); len(b.Txns) != 1 || b.Ops[0].Data != k {
				t.Fatalf("%s does not state %s: %v", form, k, b.Bad)
			}
			compact := AppendRecord(nil, &b, &b.Txns[0])
			if err := d.DecodeRecord(&again, Position{}, compact); err != nil || again.Ops[0].Data != k {
				t.Errorf("a compact record does not state %s: %v", k, err)
			}
		}
		if !bytes.Contains(line, fmt.Appendf(nil, `"kind":"%s"`, k)) {
			t.Errorf("%s does not name %s", line, k)
		}
		for name, word := range map[string]string{
			"schema.json": fmt.Sprintf("%q", k), "isowatch.proto": fmt.Sprintf("DATA_%s = %d;", strings.ToUpper(k.String()), n+1), "../docs/format.md": fmt.Sprintf("`%s`", k),
		} {
			if !strings.Contains(published[name], word) {
				t.Errorf("%s does not have %s", name, word)
			}
		}
	}
	if lastDataKind > 15 {
		t.Errorf("%d kinds, and a compact record has 4 bits for one", lastDataKind)
	}
}
