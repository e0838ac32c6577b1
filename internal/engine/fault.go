package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
	"unicode"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/window"
)

// A machine that panics is a fault of the program. Machines are deterministic, and input that is not
// committed is read again. So a record that panics would end the service at each start. Instead the
// machine goes back to its state before the step. The record is taken out, and the step is done again
// (quarantine.go). The delta holds the step without the record, so a replay does not fail.

// ErrStopped: no source is left, since all were stopped for faults of the program.
var ErrStopped = errors.New("every source is stopped, because of bugs in this program")

// mostFaults is how many faults stop a source, when they come within faultsWithin.
const (
	mostFaults   = 3
	faultsWithin = int64(time.Hour)
)

// fault is a panic of a machine, as an error.
type fault struct {
	text  string
	stack []byte
}

// ErrFault is in the error of a fault.
var ErrFault = errors.New("the program has a fault")

// Is makes errors.Is(f, ErrFault) true.
func (f *fault) Is(target error) bool { return target == ErrFault }

func (f *fault) Error() string { return "the program has a fault: " + f.text }

// guarded runs f. A panic in it becomes a *fault.
func guarded(f func() error) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = &fault{oneLine(fmt.Sprint(x)), debug.Stack()}
		}
	}()
	return f()
}

// oneLine is the start of a text, which may hold parts of records, without control characters.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text[:min(len(text), 500)], "?"))
}

// asFault is the fault in err, nil for any other error.
func asFault(err error) *fault {
	var f *fault
	errors.As(err, &f)
	return f
}

// faultKind says what an entry of a step is about.
type faultKind byte

const (
	faultLost    faultKind = 1 // a record of the source was taken out, for a fault
	faultStopped faultKind = 2 // the source takes part no more, from this step on
	faultPassed  faultKind = 3 // records of a stopped source were passed over
	faultResumed faultKind = 4 // a new life takes the source up again
	faultApart   faultKind = 5 // records of the source are read elsewhere: see Lose
	faultOwn     faultKind = 6 // what the step lost of the gap's partition was the source's: see own
)

// faultEntry is the effect of a fault on a step, for one source. It is part of the delta.
type faultEntry struct {
	source string
	kind   faultKind
	gap    window.Gap // of Stopped, the reason only
}

// suspension is the effect of faults on a source.
type suspension struct {
	// Stopped is why the source takes no part; "": it does.
	Stopped string `json:"stopped,omitempty"`
	// Faults are the ticks of the latest ones in this life or the one before, at most mostFaults.
	Faults []int64 `json:"faults,omitempty"`
	// Passed are the records that came while it was stopped, one range a partition.
	Passed []window.Gap `json:"passed,omitempty"`
	// Quarantined counts the records that were taken out, since the store was made.
	Quarantined int64 `json:"quarantined,omitempty"`
}

// fail notes a fault, and says whether that was one fault too many.
func (s *suspension) fail(tick int64) bool {
	s.Faults = append(s.Faults, tick)
	s.Faults = s.Faults[max(0, len(s.Faults)-mostFaults):]
	return len(s.Faults) == mostFaults && tick-s.Faults[0] <= faultsWithin
}

// pass notes records that are passed over.
func (s *suspension) pass(g window.Gap) {
	for i := range s.Passed {
		if p := &s.Passed[i]; p.Partition == g.Partition {
			p.From, p.To = min(p.From, g.From), max(p.To, g.To)
			return
		}
	}
	s.Passed = append(s.Passed, g)
}

// suffer takes in the effects of faults on the step, and says whether the source takes part in it.
func (x *source) suffer(st *step) (takesPart bool) {
	for i := range st.faults {
		f := &st.faults[i]
		if f.source != x.name {
			continue
		}
		switch f.kind {
		case faultLost:
			x.Quarantined++
			x.fail(st.tick)
			x.machine.Lose(f.gap, st.tick, &x.effects)
		case faultApart:
			f.gap.Elsewhere = true
			x.machine.Lose(f.gap, st.tick, &x.effects)
		case faultStopped:
			x.Stopped = f.gap.Reason
		case faultPassed:
			x.pass(f.gap)
		case faultResumed:
			for _, g := range x.Passed {
				x.machine.Lose(g, st.tick, &x.effects)
			}
			x.suspension = suspension{Quarantined: x.Quarantined}
		}
	}
	return x.Stopped == ""
}

// appendFaults writes nothing if there are no faults. Marks are before them.
func appendFaults(dst []byte, all []faultEntry) []byte {
	if len(all) == 0 {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(len(all)))
	for i := range all {
		f := &all[i]
		dst = append(appendText(dst, f.source), byte(f.kind))
		dst = appendGap(dst, &f.gap)
	}
	return dst
}

func readFaults(r *deltaReader) (all []faultEntry) {
	for n := r.uint(); n > 0 && r.err == nil; n-- {
		f := faultEntry{source: r.text()}
		if kind := r.bytes(1); len(kind) == 1 {
			f.kind = faultKind(kind[0])
		}
		f.gap = readGap(r)
		all = append(all, f)
	}
	return all
}

func appendGap(dst []byte, g *window.Gap) []byte {
	dst = appendText(dst, g.Partition)
	dst = binary.AppendVarint(dst, g.From)
	dst = binary.AppendVarint(dst, g.To)
	return appendText(dst, g.Reason)
}

func readGap(r *deltaReader) window.Gap {
	return window.Gap{Partition: r.text(), From: r.int(), To: r.int(), Reason: r.text()}
}

// decode decodes messages of a partition until the step is full, and returns how many it took. If the
// decoder panics, its message is a dead letter.
func (e *Engine) decode(w *work, part uint32, messages []ingest.Message) (taken int) {
	b := &w.step.batch
	txns, parts := len(b.Txns), len(b.Parts)
	for taken < len(messages) && !w.full(e.opt.StepBytes) {
		var f *fault
		if taken, f = decodeUntil(b, part, messages, taken, func() bool { return w.full(e.opt.StepBytes) }, e.decoder.DecodeMessage); f != nil {
			e.decoder = e.newDecoder(e.decoder.Source)
			e.log.Error("decoding a message failed, and it is left out: please report this", "position", b.Where(event.Position{Partition: part, Offset: messages[taken-1].Offset}),
				"fault", f.text, "stack", string(f.stack))
		}
	}
	e.tape.Add(b.Partitions[part], e.decoder.Source, messages[:taken], b, b.Txns[txns:], b.Parts[parts:])
	for i := range messages[:taken] {
		e.bytes.Add(int64(len(messages[i].Value)))
	}
	return taken
}

// newDecoder is the decoder of messages.
func (e *Engine) newDecoder(source string) event.Decoder {
	return event.Decoder{Source: source, MaxElems: e.opt.MaxElems, Long: longText}
}

// longText is the length from which on texts are shortened. A dead letter keeps as much of a record.
const longText = 64 << 10

// decodeUntil decodes messages from the one at the index next on, until full. A panic ends it: the message
// leaves a dead letter in b, and nothing else.
func decodeUntil(b *event.Batch, part uint32, messages []ingest.Message, next int, full func() bool, decode func(*event.Batch, event.Position, []byte)) (taken int, f *fault) {
	var before sizes
	pos := event.Position{Partition: part}
	err := guarded(func() error {
		for ; next < len(messages) && !full(); next++ {
			before.of(b)
			pos.Offset = messages[next].Offset
			decode(b, pos, messages[next].Value)
		}
		return nil
	})
	if f = asFault(err); f != nil {
		before.cut(b)
		b.AddBad(pos, messages[next].Value, f.Error())
		next++
	}
	return next, f
}

// sizes are the lengths of a batch's slices.
type sizes struct{ data, txns, ops, elems, extras, rows, parts, marks, bad int }

func (s *sizes) of(b *event.Batch) {
	s.data, s.txns, s.ops, s.elems, s.extras = len(b.Data), len(b.Txns), len(b.Ops), len(b.Elems), len(b.Extras)
	s.rows, s.parts, s.marks, s.bad = len(b.Rows), len(b.Parts), len(b.Marks), len(b.Bad)
}

// cut takes out what came after.
func (s *sizes) cut(b *event.Batch) {
	b.Data, b.Txns, b.Ops, b.Elems, b.Extras = b.Data[:s.data], b.Txns[:s.txns], b.Ops[:s.ops], b.Elems[:s.elems], b.Extras[:s.extras]
	b.Rows, b.Parts, b.Marks, b.Bad = b.Rows[:s.rows], b.Parts[:s.parts], b.Marks[:s.marks], b.Bad[:s.bad]
}
