package history

import (
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
)

// Of Elle's formats the reader tells what it has worked on, and in the end the whole file: it is for progress.
func TestUsed(t *testing.T) {
	const text = `{:type :invoke, :process 0, :f :txn, :value [[:append 5 1]]}
{:type :ok, :process 0, :f :txn, :value [[:append 5 1]]}
{:type :invoke, :process 0, :f :txn, :value [[:r 5 nil]]}
{:type :ok, :process 0, :f :txn, :value [[:r 5 [1]]]}
`
	used, calls := 0, 0
	r := Reader{Batch: &event.Batch{Partitions: []string{"h"}}, Used: func(bytes int) { used += bytes; calls++ }}
	r.Flush = func() error { return nil }
	if err := r.Read(EDN, strings.NewReader(text)); err != nil || used != len(text) || calls < 4 {
		t.Errorf("%d of %d bytes in %d calls, %v", used, len(text), calls, err)
	}
}
