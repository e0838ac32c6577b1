package registers

import (
	"fmt"
	"testing"

	"github.com/isowatch/isowatch/event"
)

// TestFetch: what is looked at ahead is what the transactions use. Each writes a value, and reads the
// one before of the key.
func TestFetch(t *testing.T) {
	const n, keys = 20_000, 100
	b := event.Batch{Partitions: []string{"test"}}
	var d event.Decoder
	for i := range n {
		found := fmt.Sprintf(`"value":%d`, i-keys)
		if i < keys {
			found = `"found":false`
		}
		d.Decode(&b, event.Position{Offset: int64(i)}, fmt.Appendf(nil,
			`{"txn":"T%d","session":"s","seq":%d,"status":"committed","ops":[{"op":"r","key":"k%d",%s},{"op":"w","key":"k%d","value":%d}]}`,
			i, i+1, i%keys, found, i%keys, i))
	}
	h := &History{}
	h.Add(&b)
	if h.Odd() != "" {
		t.Fatal(h.Odd())
	}
	last := b.Txns[n-n%atATime:]
	if n%atATime == 0 {
		last = b.Txns[n-atATime:]
	}
	if got := len(h.fetching.versions); got != 2*len(last) {
		t.Fatalf("%d versions were looked at, want %d", got, 2*len(last))
	}
	for _, x := range h.fetching.versions {
		if _, known := h.values.known(x); !known {
			t.Errorf("%v was looked at, and no transaction has it", x)
		}
	}
}
