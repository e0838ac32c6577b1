package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/store"
	"github.com/isowatch/isowatch/window"
)

// Resolution is a replay's answer about the range that a horizon finding names.
type Resolution struct {
	// Finding is the horizon finding as the replay closed it: its id, its state,
	// what the range refutes, and an explanation.
	Finding finding.Finding `json:"finding"`
	// From and To bound the range that was read, ns since the Unix epoch; nil: as
	// far as there was input.
	From *int64 `json:"from,omitempty"`
	To   *int64 `json:"to,omitempty"`
	// Expect is the level that the answer is about. Unnamed is how many edges of the
	// finding the replay was not given the transactions of: Finding.Txns are the others'.
	Expect  string `json:"expect"`
	Unnamed int64  `json:"unnamed,omitempty"`
}

var (
	// ErrNoFinding: there is no horizon finding of that id and source.
	ErrNoFinding = errors.New("no such horizon finding")
	// ErrUnresolved: the replay does not answer the finding as it stands.
	ErrUnresolved = errors.New("the finding stays open")
)

// resolving is a resolution on its way to the commit.
type resolving struct {
	Resolution
	done chan error // has room for the one answer
	err  error
}

// Resolve closes a horizon finding, while [Engine.Run] runs, and returns when that
// is committed. Closing it again in the same way changes nothing.
func (e *Engine) Resolve(ctx context.Context, r Resolution) error {
	x := &resolving{Resolution: r, done: make(chan error, 1)}
	select {
	case e.resolving <- x:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-x.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// answer tells who waits for the resolutions of w how they fared.
func (w *work) answer(err error) {
	for _, x := range w.resolving {
		x.done <- errors.Join(err, x.err)
	}
	w.resolving = w.resolving[:0]
}

// resolve returns the stored finding as x closes it, with its order. It returns nil if the finding is
// closed in that way already.
func (e *Engine) resolve(x *Resolution, w *work) (order, text []byte, err error) {
	id := x.Finding.ID
	value, err := e.store.Get(spaceFinding, []byte(id))
	if err != nil {
		return nil, nil, err
	}
	var f finding.Finding
	if len(value) >= 8 {
		if err := json.Unmarshal(value[8:], &f); err != nil {
			return nil, nil, fmt.Errorf("finding %s: %w", id, err)
		}
	}
	if f.Kind != finding.KindHorizon || f.Source != x.Finding.Source {
		return nil, nil, fmt.Errorf("%w: %q", ErrNoFinding, id)
	}
	for i := range w.effects {
		if slices.Contains(w.effects[i].ids, id) {
			return nil, nil, fmt.Errorf("%w: it has just grown", ErrUnresolved)
		}
	}
	why := x.leavesOpen(&f)
	if why == "" && x.Finding.State == finding.ResolvedOK {
		why = x.lost(w.status)
	}
	if why != "" {
		return nil, nil, fmt.Errorf("%w: %s", ErrUnresolved, why)
	}
	if f.State == x.Finding.State {
		return nil, nil, nil
	}
	f.State = x.Finding.State
	f.Revision++
	f.Refutes, f.AlsoRefutes, f.Expected, f.Certain = x.Finding.Refutes, x.Finding.AlsoRefutes, false, true
	f.Explanation = x.Finding.Explanation + "\n" + strings.TrimSuffix(f.Explanation, openEnd)
	if w.step.tick != 0 {
		f.DetectedAt = time.Unix(0, w.step.tick).UTC().Format(time.RFC3339Nano)
	}
	if text, err = json.Marshal(&f); err != nil {
		return nil, nil, fmt.Errorf("finding %s: %w", id, err)
	}
	return value[:8:8], text, nil
}

// openEnd ends the explanation of a horizon finding that nobody has decided.
const openEnd = "\nReplaying the range decides."

// leavesOpen says why the replay does not answer f in its present form, "" if it does. f grows until
// its pane is over, and so does the range that decides it.
func (x *Resolution) leavesOpen(f *finding.Finding) string {
	switch {
	case x.Finding.State != finding.ResolvedOK && x.Finding.State != finding.ResolvedViolated:
		return fmt.Sprintf("the replay says %q", x.Finding.State)
	case f.State == finding.ResolvedViolated && x.Finding.State == finding.ResolvedOK:
		return "an earlier replay found a violation"
	case f.State == finding.Provisional:
		return "it may still grow: run its command again when its state is final"
	}
	if f.Command == "" {
		return "it names no command"
	}
	if !strings.HasSuffix(f.Command, window.Question(f.ID, x.Finding.Epoch, x.Unnamed, x.Finding.Txns)) {
		return "its command asks about other transactions"
	}
	if x.Finding.State == finding.ResolvedViolated {
		return "" // a cycle is one in any range
	}
	from, to, err := rangeOf(f)
	switch {
	case err != nil:
		return err.Error()
	case x.From != nil && (from == nil || *x.From > *from), x.To != nil && (to == nil || *x.To < *to):
		return "the range that was read is not the whole range of its command"
	}
	return ""
}

// lost names input that the replay cannot have read, "" for no such input. A service can lose input
// itself, for example before a stream was made again: no replay has it. The loss matters unless all of
// that input had ended before the range.
func (x *Resolution) lost(s *Status) string {
	for i := range s.Sources {
		l := s.Sources[i].Lost
		if s.Sources[i].Source != x.Finding.Source || l.Pieces == 0 || l.Before != 0 && x.From != nil && *x.From >= l.Before {
			continue
		}
		return "the service lost input, which the replay cannot have read either: see the findings of kind gap"
	}
	return ""
}

// rangeOf are the bounds that the command of a horizon finding names. Behind them
// stand only the finding's id and transactions.
func rangeOf(f *finding.Finding) (from, to *int64, err error) {
	command, _, ok := strings.Cut(f.Command, " --finding "+f.ID)
	if !ok {
		return nil, nil, errors.New("it names no command")
	}
	for _, x := range []struct {
		flag  string
		bound **int64
	}{{" --to ", &to}, {" --from ", &from}} {
		rest, text, ok := cutLast(command, x.flag)
		t, err := time.Parse(time.RFC3339Nano, text)
		if !ok || err != nil {
			continue // text is of a quoted word that comes before
		}
		ns := t.UnixNano()
		*x.bound, command = &ns, rest
	}
	return from, to, nil
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// putResolved adds what the resolutions of w change to its commit.
func (e *Engine) putResolved(w *work, h *head, put func(store.Space, []byte, []byte)) {
	closed := map[string]bool{}
	for _, x := range w.resolving {
		if closed[x.Finding.ID] {
			x.err = fmt.Errorf("%w: another replay is closing it", ErrUnresolved)
			continue
		}
		order, text, err := e.resolve(&x.Resolution, w)
		if x.err = err; err != nil || text == nil {
			continue
		}
		closed[x.Finding.ID] = true
		put(spaceFinding, []byte(x.Finding.ID), append(order, text...))
		h.Outbox++
		h.OutboxBytes += int64(len(text))
		put(spaceOutbox, key64(h.Outbox), text)
	}
}
