package keep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	isostore "github.com/isowatch/isowatch/store"

	"github.com/isowatch/isowatch/internal/group/store"
	"github.com/isowatch/isowatch/internal/pulse"
)

// sizes of parts of a state.
type sizes struct {
	tail   int    // of the log's end in the record; more becomes an object
	log    int    // of the log that is not written yet: beyond it a new copy takes its place
	base   uint64 // of the log behind a copy, before a new one is made; at least half of the copy
	pieces int    // of the log behind a copy
	write  int    // that nobody waits for are written then
	// refresh is the log from which on Refresh makes a copy. A successor does that much again in a second.
	refresh uint64
}

var defaultSizes = sizes{tail: 128 << 10, log: 64 << 20, base: 64 << 20, pieces: 1000, write: 1 << 20, refresh: 24 << 20}

const (
	writeAge   = time.Minute // what nobody waits for is written then
	lookEvery  = time.Second // whether it is, and where the unit reads
	retryPause = 200 * time.Millisecond
	removeWait = 500 * time.Millisecond // at the end
)

// Options of a keeper.
type Options struct {
	Objects store.Objects
	// Unit begins the names of all objects of the unit. Name begins the names that this keeper gives, and begins with
	// Unit. No other keeper has it, since it holds the term and the member's life.
	Unit, Name string
	// State is the record at the start. Findings up to the number Through are in it.
	State   []byte
	Through uint64
	// Commit writes the record. It says whether that was begun: then Committed is called at its end.
	Commit func(data []byte, through uint64) bool
	// Findings reads entries that were committed. It gives the number of the last delivery, if they tell it. urgent: somebody
	// waits until they are in the state.
	Findings func(entries []isostore.Entry) (through uint64, known, urgent bool)
	// Written is called when more findings are in the state.
	Written func()
	// Fresh asks the unit for a snapshot, before a copy is made, and says whether it is there. nil: none is asked for.
	Fresh func() bool
	// Place is where a successor may begin that cannot read the rest of the state. It is asked once a second. nil: it is not
	// known, and the place in the state at the start counts.
	Place   func() json.RawMessage
	Version string
	Log     *slog.Logger
}

// Keeper keeps the state of a unit that this member owns. Committed of the unit's store, and of the
// member, feed it.
type Keeper struct {
	o     Options
	sizes sizes

	mu      sync.Mutex
	log     []byte // not written yet
	from    uint64 // where it begins
	through uint64 // by what is committed
	urgent  bool
	broken  bool // a part of the log is gone: only a copy helps
	oldest  time.Time
	written uint64 // findings up to this one are in the state
	at      time.Time
	bytes   int64 // of the state
	failed  error // why it cannot be written now
	data    []byte
	names   []string // objects of data
	lost    bool     // the store has lost a part of data
	begins  uint64   // where what data needs of the log begins
	asked   bool     // for a copy, by Refresh
	copies  copies

	wake      chan struct{}
	committed chan struct{} // holds one token when a write is done
	closing   chan struct{}
	close     sync.Once
	ctx       context.Context
	cancel    context.CancelFunc
	done      chan struct{}

	planted planted // by a test

	// The one goroutine owns the rest.
	record  *record
	number  int // of the latest object
	basing  chan based
	baseLog uint64 // where the log was when the copy under way began
	rebased bool   // a new copy is to be named
	// replaced are objects that are named until the next write, and unused ones that nothing names.
	replaced, unused []string
}

// place is where a successor may begin that lacks the state.
func (k *Keeper) place() json.RawMessage {
	if k.o.Place != nil {
		if text := k.o.Place(); text != nil {
			return text
		}
	}
	return k.record.Place
}

// based is a copy that is written.
type based struct {
	manifest store.Manifest
	err      error
}

// New reads the state. The keeper works from Start on.
func New(o Options) (*Keeper, error) {
	r, err := readRecord(o.State)
	if err != nil {
		return nil, err
	}
	k := &Keeper{o: o, sizes: defaultSizes, record: r, from: r.end(), through: o.Through, written: o.Through, data: o.State, names: slices.Sorted(maps.Keys(r.names())), begins: r.start(), at: time.Now(),
		wake: make(chan struct{}, 1), committed: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{})}
	if k.o.Log == nil {
		k.o.Log = slog.New(slog.DiscardHandler)
	}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	return k, nil
}

// Committed takes what the unit's store committed.
func (k *Keeper) Committed(entries []isostore.Entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if through, known, urgent := k.o.Findings(entries); known || urgent {
		k.urgent = k.urgent || urgent || through > k.through
		k.through = max(k.through, through)
	}
	if len(k.log) == 0 {
		k.oldest = time.Now()
	}
	if k.broken {
		return
	}
	k.log = isostore.AppendCommit(k.log, entries)
	if len(k.log) > k.sizes.log {
		k.from += uint64(len(k.log))
		k.log, k.broken = nil, true
	}
	if k.urgent || len(k.log) > k.sizes.write || k.broken {
		k.poke()
	}
}

func (k *Keeper) poke() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// Done says that the record which Commit was given is written.
func (k *Keeper) Done() {
	select {
	case k.committed <- struct{}{}:
	default:
	}
}

// Written is the number up to which findings are in the state.
func (k *Keeper) Written() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.written
}

// Status is how the state stands.
type Status struct {
	At     time.Time // when it was written
	Bytes  int64
	Held   uint64 // findings that are not in it yet
	Failed error  // why it cannot be written now
}

// Status of now.
func (k *Keeper) Status() Status {
	k.mu.Lock()
	defer k.mu.Unlock()
	return Status{k.at, k.bytes, k.through - min(k.through, k.written), k.failed}
}

// State gives the record that was written last.
func (k *Keeper) State() (data []byte, through uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.data, k.written
}

// Start writes what st commits, until Close or Abort.
func (k *Keeper) Start(st *isostore.Store) {
	go k.run(func(marked func()) (copied, error) { return st.Copy(marked) })
}

// Close writes all that is committed, until ctx ends, and stops.
func (k *Keeper) Close(ctx context.Context) error {
	k.close.Do(func() { close(k.closing) })
	select {
	case <-k.done:
	case <-ctx.Done():
	}
	k.cancel()
	<-k.done
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.log) > 0 || k.broken || k.record.end() < k.from {
		return fmt.Errorf("the state lacks what was committed last: %w", errors.Join(k.failed, context.Cause(ctx)))
	}
	return nil
}

// Abort stops without another write.
func (k *Keeper) Abort() { k.cancel() }

func (k *Keeper) run(st copying) {
	defer close(k.done)
	k.clean()
	tick := time.NewTimer(pulse.Next(lookEvery))
	defer tick.Stop()
	last := false
	for k.ctx.Err() == nil {
		if k.due(last) {
			if err := k.write(st, last); err != nil && k.ctx.Err() == nil {
				k.fail(err)
				k.pause()
			}
			continue
		}
		if last && (k.basing == nil || !k.onlyCopyHelps()) {
			k.giveUpCopy()
			return
		}
		closing := k.closing
		if last {
			closing = nil
		}
		select {
		case <-k.ctx.Done():
		case <-k.wake:
		case <-tick.C:
			tick.Reset(pulse.Next(lookEvery))
			k.place()
		case <-closing:
			last = true
		case b := <-k.basing:
			k.took(b)
		}
	}
	if k.basing != nil {
		<-k.basing // it reads the store
	}
}

// giveUpCopy ends a copy under way, which a unit that is handed over does not wait for: the log has all.
func (k *Keeper) giveUpCopy() {
	if k.basing == nil {
		return
	}
	k.cancel()
	b := <-k.basing
	ctx, cancel := context.WithTimeout(context.Background(), removeWait)
	defer cancel()
	_ = store.Drop(ctx, k.o.Objects, b.manifest.Name) // else the next owner removes it
}

func (k *Keeper) pause() {
	select {
	case <-k.ctx.Done():
	case <-time.After(retryPause):
	}
}

func (k *Keeper) fail(err error) {
	k.mu.Lock()
	first := k.failed == nil
	k.failed = err
	k.mu.Unlock()
	if first && k.ctx.Err() == nil {
		k.o.Log.Warn("the state cannot be written: findings wait until it can", "err", err)
	}
}

// due says whether there is something to write. last: all of it is.
func (k *Keeper) due(last bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.lacks():
		return k.basing == nil
	case k.rebased:
		return true
	case k.asked && !last && k.basing == nil:
		return true
	case len(k.log) == 0:
		return false
	}
	return last || k.urgent || len(k.log) > k.sizes.write || time.Since(k.oldest) > writeAge
}

// lacks says that a part of the log is gone: only a copy helps. k.mu is held.
func (k *Keeper) lacks() bool { return k.broken || k.record.end() < k.from }

func (k *Keeper) onlyCopyHelps() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lacks()
}

// start is where what the record needs of the log begins.
func (r *record) start() uint64 {
	if len(r.Pieces) > 0 {
		return r.Pieces[0].From
	}
	return r.Tail
}

// write writes the log's end, and begins a new copy where that is due.
func (k *Keeper) write(st copying, last bool) error {
	if k.basing == nil && k.wantsBase(last) {
		if err := k.startBase(st); err != nil {
			return err
		}
	}
	k.mu.Lock()
	if k.lacks() {
		k.mu.Unlock()
		return nil // until the copy is there
	}
	more, from, through := k.log, k.from, k.through
	k.urgent = false
	k.mu.Unlock()
	next := *k.record
	next.Format, next.Writer, next.Place = formatVersion, k.o.Version, k.place()
	next.tail = append(next.tail[:len(next.tail):len(next.tail)], more...)
	next.drop()
	if len(next.tail) > k.sizes.tail {
		if err := k.cut(&next); err != nil {
			k.discard(&next)
			return err
		}
	}
	data, err := next.append(nil)
	if err != nil {
		return err
	}
	select {
	case <-k.committed: // of a write that was given up
	default:
	}
	if !k.o.Commit(data, through) {
		k.discard(&next)
		return errors.New("the unit is another member's, or about to be")
	}
	select {
	case <-k.committed:
	case <-k.ctx.Done():
		return k.ctx.Err()
	}
	k.wrote(&next, data, from, len(more), through)
	return nil
}

// discard notes the objects of a record that was not written.
func (k *Keeper) discard(r *record) {
	named := k.record.names()
	for name := range r.names() {
		if !named[name] {
			k.replaced = append(k.replaced, name)
		}
	}
}

func (k *Keeper) wrote(next *record, data []byte, from uint64, n int, through uint64) {
	names := next.names()
	for name := range k.record.names() {
		k.replaced = append(k.replaced, name)
	}
	for _, name := range k.replaced {
		if !names[name] {
			k.unused = append(k.unused, name)
		}
	}
	rebased := k.rebased
	k.record, k.replaced, k.rebased = next, nil, false
	k.mu.Lock()
	if k.from == from { // else the log was given up meanwhile
		k.log, k.from = k.log[n:], from+uint64(n)
		if len(k.log) == 0 {
			k.log = nil
		}
	}
	k.oldest = time.Now()
	k.written, k.at, k.data, k.names = max(k.written, through), time.Now(), data, slices.Sorted(maps.Keys(names))
	k.begins = next.start()
	if rebased {
		k.copies.named = k.copies.there
	}
	if !k.lost || rebased {
		k.lost, k.failed = false, nil
	}
	k.bytes = int64(len(data)) + next.bytes()
	k.mu.Unlock()
	k.o.Written()
	k.remove()
}

func (r *record) bytes() (n int64) {
	if r.Base != nil {
		n = r.Base.Bytes
	}
	for i := range r.Pieces {
		n += int64(r.Pieces[i].Bytes)
	}
	return n
}

// drop forgets what the copy has of the log.
func (r *record) drop() {
	if r.Base == nil {
		return
	}
	for len(r.Pieces) > 0 && r.Pieces[0].From < r.BaseEnd {
		r.Pieces = r.Pieces[1:]
	}
	if r.Tail < r.BaseEnd {
		n := min(r.BaseEnd-r.Tail, uint64(len(r.tail)))
		r.Tail, r.tail = r.Tail+n, r.tail[n:]
	}
}

// cut makes objects of the tail. No object goes over the place where a copy was begun.
func (k *Keeper) cut(r *record) error {
	r.Pieces = r.Pieces[:len(r.Pieces):len(r.Pieces)]
	for len(r.tail) > 0 {
		n := uint64(min(len(r.tail), store.ObjectSize))
		if k.basing != nil && r.Tail < k.baseLog && k.baseLog < r.Tail+n {
			n = k.baseLog - r.Tail
		}
		m, err := store.Save(k.ctx, k.o.Objects, k.object(), bytes.NewReader(r.tail[:n]))
		if err != nil {
			return err
		}
		r.Pieces = append(r.Pieces, piece{r.Tail, m.Objects[0]})
		r.Tail, r.tail = r.Tail+n, r.tail[n:]
	}
	return nil
}

// object is a name that no other object has.
func (k *Keeper) object() string {
	k.number++
	return fmt.Sprintf("%s-%d", k.o.Name, k.number)
}

// wantsBase says whether a copy is due. A successor does again what the log has, so its length decides how long the unit is
// without an owner. last: the unit is handed over, which a copy would delay.
func (k *Keeper) wantsBase(last bool) bool {
	k.mu.Lock()
	lacks, asked, log := k.lacks(), k.asked, k.from+uint64(len(k.log))-k.record.start()
	k.mu.Unlock()
	least := k.sizes.base
	if k.record.Base != nil {
		least = max(least, uint64(k.record.Base.Bytes)/2)
	}
	switch {
	case lacks:
		return true
	case asked && !last:
		return true // Refresh has asked for the snapshot
	case last || log <= least && len(k.record.Pieces) <= k.sizes.pieces:
		return false
	}
	return k.o.Fresh == nil || k.o.Fresh() || log > 2*least // it may not come, for want of room or of steps
}

// startBase begins a copy of the store, beside which the log goes on.
func (k *Keeper) startBase(st copying) error {
	c, err := st(func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.broken { // the log begins again here
			k.broken, k.log = false, nil
		}
		k.baseLog, k.asked = k.from+uint64(len(k.log)), false
		k.copies.begun++
	})
	if err != nil {
		return err
	}
	name := k.object()
	k.basing = make(chan based, 1)
	to := k.basing
	go func() {
		m, err := saveCopy(k.ctx, k.o.Objects, name, c)
		to <- based{m, errors.Join(err, c.Close())}
	}()
	return nil
}

func saveCopy(ctx context.Context, o store.Objects, name string, c copied) (store.Manifest, error) {
	from, to := io.Pipe()
	go func() { to.CloseWithError(c.Write(ctx, to)) }()
	m, err := store.Save(ctx, o, name, from)
	from.CloseWithError(errors.New("no more is wanted"))
	return m, err
}

// took takes a copy that is written. The next write names it.
func (k *Keeper) took(b based) {
	k.basing = nil
	k.copied(b.err == nil)
	if b.err != nil {
		k.fail(b.err)
		k.pause()
		k.poke()
		return
	}
	for name := range k.record.names() {
		k.replaced = append(k.replaced, name)
	}
	next := *k.record
	if k.planted == lateCopy {
		k.mu.Lock()
		k.baseLog = k.from
		k.mu.Unlock()
	}
	next.Base, next.BaseEnd = &b.manifest, k.baseLog
	if next.end() < k.baseLog { // the log between is gone, or could not be written: the copy has it
		next.Pieces, next.Tail, next.tail = nil, k.baseLog, nil
		k.mu.Lock()
		if k.from < k.baseLog {
			k.log, k.from = k.log[k.baseLog-k.from:], k.baseLog
		}
		k.mu.Unlock()
	}
	k.record, k.rebased = &next, true
	k.poke()
}

// clean removes the unit's objects that its state does not name. Members before have left them.
func (k *Keeper) clean() {
	ctx, cancel := store.Within(k.ctx, 0)
	defer cancel()
	names, err := k.o.Objects.ListObjects(ctx, k.o.Unit)
	if err != nil {
		return // the next owner tries again
	}
	used := k.record.names()
	for _, name := range names {
		if !used[name] {
			k.unused = append(k.unused, name)
		}
	}
	k.remove()
}

// remove removes objects that nothing names any more.
func (k *Keeper) remove() {
	for len(k.unused) > 0 && k.ctx.Err() == nil {
		ctx, cancel := store.Within(k.ctx, 0)
		err := k.o.Objects.DeleteObject(ctx, k.unused[0])
		cancel()
		if err != nil {
			return // later
		}
		k.unused = k.unused[1:]
	}
}
