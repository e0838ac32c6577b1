package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Replay is stored input that is read again.
type Replay struct {
	Watch   Watch
	Bounded bool // no more than Watch.Window is kept in memory

	NATS  *NATS
	Kafka *Kafka
	Files []string // patterns

	From, To Bound
	Source   string // only this one; "": all
	// DefaultSource is the source of records that name none; "": "default".
	DefaultSource string
	// OwnInputs says that no record is of another source. One that names another is a bad record, as for a service.
	OwnInputs bool
	Key       string // only findings that name it; "": all
	// Finding is the id of a horizon finding that is to be closed by the promises of
	// Watch.Expect. Txns are the transactions of Epoch that it names, and Unnamed counts
	// its edges to others.
	Finding string
	Epoch   string
	Unnamed int64
	Txns    []string
	// Data is the folder of the service that is told how Finding was closed; "":
	// none.
	Data string
}

// Bound is an end of a range: an event time, or a position of the input.
type Bound struct {
	Kind    BoundKind
	Time    int64         // ns since the Unix epoch
	Offset  int64         // NATS sequence, or byte of a file
	Offsets map[int]int64 // Kafka: by partition; the others have no bound
}

// BoundKind says what a Bound counts in.
type BoundKind uint8

const (
	Unbounded BoundKind = iota
	AtTime
	AtOffset
	AtOffsets
)

var errBound = errors.New("want a time (RFC 3339), a number, or PARTITION:OFFSET,... for Kafka")

// ParseBound reads a time in RFC 3339, a number, or PARTITION:OFFSET,...
func ParseBound(text string) (Bound, error) {
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		ns := t.UnixNano()
		if !time.Unix(0, ns).Equal(t) {
			return Bound{}, fmt.Errorf("%q is not within the years 1678 to 2262", text)
		}
		return Bound{Kind: AtTime, Time: ns}, nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		return Bound{Kind: AtOffset, Offset: n}, nil
	}
	b := Bound{Kind: AtOffsets, Offsets: map[int]int64{}}
	for item := range strings.SplitSeq(text, ",") {
		partition, offset, ok := strings.Cut(strings.TrimSpace(item), ":")
		p, err := strconv.ParseInt(partition, 10, 32)
		o, err2 := strconv.ParseInt(offset, 10, 64)
		if !ok || err != nil || err2 != nil || p < 0 || o < 0 {
			return Bound{}, fmt.Errorf("%q: %w", text, errBound)
		}
		if _, twice := b.Offsets[int(p)]; twice {
			return Bound{}, fmt.Errorf("%q: partition %d is named twice", text, p)
		}
		b.Offsets[int(p)] = o
	}
	return b, nil
}

// String is the form that ParseBound reads, "" for no bound.
func (b Bound) String() string {
	switch b.Kind {
	case AtTime:
		return time.Unix(0, b.Time).UTC().Format(time.RFC3339Nano)
	case AtOffset:
		return strconv.FormatInt(b.Offset, 10)
	case AtOffsets:
		var items []string
		for _, p := range slices.Sorted(maps.Keys(b.Offsets)) {
			items = append(items, fmt.Sprintf("%d:%d", p, b.Offsets[p]))
		}
		return strings.Join(items, ",")
	}
	return ""
}

// Ranged says whether the replay may leave out records of its inputs.
func (r *Replay) Ranged() bool { return r.From.Kind != Unbounded || r.To.Kind != Unbounded }

// Validate lists every fault that can be seen without opening anything.
func (r *Replay) Validate() error {
	faults := []error{r.Watch.Validate()}
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if r.NATS == nil && r.Kafka == nil && len(r.Files) == 0 {
		fault("no input: name --file, --nats or --kafka")
	}
	for _, x := range []struct {
		name string
		Bound
	}{{"from", r.From}, {"to", r.To}} {
		switch {
		case x.Kind == AtOffset && (r.Kafka != nil || r.NATS != nil && len(r.Files) > 0 || len(r.Files) > 1):
			fault("%s %s: a number is a place in one stream or one file; for Kafka write PARTITION:OFFSET,...", x.name, x.Bound)
		case x.Kind == AtOffsets && (r.Kafka == nil || len(r.Kafka.Topics) != 1 || r.NATS != nil || len(r.Files) > 0):
			fault("%s %s: partitions and offsets are of one Kafka topic", x.name, x.Bound)
		}
	}
	if r.From.Kind == r.To.Kind && (r.From.Kind == AtTime || r.From.Kind == AtOffset) &&
		cmp.Or(cmp.Compare(r.From.Time, r.To.Time), cmp.Compare(r.From.Offset, r.To.Offset)) >= 0 {
		fault("from %s, to %s: the range is empty", r.From, r.To)
	}
	if n := r.NATS; n != nil && n.Stream == "" {
		fault("nats: no stream is named")
	}
	if k := r.Kafka; k != nil && len(k.Topics) == 0 {
		fault("kafka: no topic is named")
	}
	for _, x := range []struct {
		name string
		set  bool
	}{{"txn", len(r.Txns) > 0}, {"epoch", r.Epoch != ""}, {"unnamed", r.Unnamed != 0}} {
		if x.set && r.Finding == "" {
			fault("%s: needs --finding", x.name)
		}
	}
	if r.Unnamed < 0 {
		fault("unnamed %d: must not be negative", r.Unnamed)
	}
	return errors.Join(faults...)
}
