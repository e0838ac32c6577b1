package infertest

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/internal/infer"
	"github.com/isowatch/isowatch/internal/infer/ledger"
	"github.com/isowatch/isowatch/internal/workload"
	"github.com/zeebo/xxh3"
)

var rewrite = flag.Bool("rewrite", false, "write what the histories of testdata print into their files")

// Rules runs each history of the files that match, without patterns of the testdata of the package under test:
// records in, and what inference gives out.
//
//	history lost update
//	# Prose.
//	options complete
//	txn T1: read x nil, write x 1
//	decide
//	----
//	T1 -wr(x 1)-> T2
//
// What the commands above a "----" print must be the text below it, up to the next blank
// line. Each history runs as written, through a snapshot after each command, and with
// all that is cold out of memory after each command: all three print the same.
func Rules(t *testing.T, patterns ...string) {
	if len(patterns) == 0 {
		patterns = []string{"testdata/*.txt"}
	}
	var files []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no histories in %s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for _, h := range histories(t, file, lines) {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txt")+"/"+h.name, func(t *testing.T) { h.run(t) })
		}
		if *rewrite {
			if err := os.WriteFile(file, []byte(strings.Join(rewritten(lines, histories(t, file, lines)), "\n")), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// history is one of testdata.
type history struct {
	file, name string
	prose      bool
	blocks     []passage
}

// passage is commands, and what they print.
type passage struct {
	commands []string
	want     []string
	at       int // index of the first line of want
}

// histories reads the lines of a file.
func histories(t *testing.T, file string, lines []string) []*history {
	t.Helper()
	var all []*history
	var b passage
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		name, isHistory := strings.CutPrefix(line, "history ")
		switch {
		case isHistory:
			if len(b.commands) > 0 || slices.ContainsFunc(all, func(h *history) bool { return h.name == name }) {
				t.Fatalf("%s:%d: %q is not alone, or follows commands that expect nothing", file, i+1, name)
			}
			all = append(all, &history{file: file, name: name})
		case line == "":
		case len(all) == 0:
			if line[0] != '#' {
				t.Fatalf("%s:%d: %q is before the first history", file, i+1, line)
			}
		case line[0] == '#':
			all[len(all)-1].prose = true
		case line == "----":
			b.at = i + 1
			for i++; i < len(lines) && strings.TrimSpace(lines[i]) != ""; i++ {
				b.want = append(b.want, lines[i])
			}
			all[len(all)-1].blocks = append(all[len(all)-1].blocks, b)
			b = passage{}
		default:
			b.commands = append(b.commands, line)
		}
	}
	for _, h := range all {
		if !h.prose || len(h.blocks) == 0 {
			t.Errorf("%s: %s has no prose, or expects nothing", file, h.name)
		}
	}
	return all
}

// rewritten is the file with what its histories print.
func rewritten(lines []string, all []*history) []string {
	for _, h := range slices.Backward(all) {
		r := newRoom("as written")
		var printed [][]string
		for _, b := range h.blocks {
			out, err := r.block(b.commands)
			if err != nil {
				out = []string{"error " + err.Error()}
			}
			printed = append(printed, out)
		}
		for i, b := range slices.Backward(h.blocks) {
			lines = slices.Replace(lines, b.at, b.at+len(b.want), printed[i]...)
		}
	}
	return lines
}

func (h *history) run(t *testing.T) {
	for _, manner := range []string{"as written", "snapshots", "spilled"} {
		r := newRoom(manner)
		for _, b := range h.blocks {
			got, err := r.block(b.commands)
			if err != nil {
				t.Fatalf("%s:%d: %s: %v", h.file, b.at, manner, err)
			}
			if !*rewrite && !slices.Equal(got, b.want) {
				t.Fatalf("%s:%d: %s, got:\n%s\nwant:\n%s", h.file, b.at, manner, strings.Join(got, "\n"), strings.Join(b.want, "\n"))
			}
		}
	}
}

// room is a state with what a driver of it has.
type room struct {
	manner  string
	s       *infer.State
	opt     ledger.Options
	records int64
	disk    map[ledger.Ref][]byte
	texts   map[uint64]string // of values, by ValueKey
	ids     map[uint32]string // of transactions that have left, by number
	seqs    map[string]int64  // the latest of each session
	out     ledger.Out
	edges   []ledger.Edge // of the latest step
	printed []string

	tentative int // how many unknown transactions are kept that have expired; 0: as many as without a test
}

// millisecond is the unit of times in testdata, ns.
const millisecond = 1_000_000

func newRoom(manner string) *room {
	return &room{manner: manner, opt: ledger.Options{Complete: true}, disk: map[ledger.Ref][]byte{}, texts: map[uint64]string{}, ids: map[uint32]string{}, seqs: map[string]int64{}}
}

// block does the commands and returns what they print.
func (r *room) block(commands []string) ([]string, error) {
	r.printed = nil
	for _, c := range commands {
		name, rest, _ := strings.Cut(c, " ")
		if err := r.command(name, strings.TrimSpace(rest)); err != nil {
			return nil, fmt.Errorf("%s: %w", c, err)
		}
		if r.s == nil {
			continue
		}
		if err := r.s.Check(); err != nil {
			return nil, fmt.Errorf("after %s: %w", c, err)
		}
		if err := r.indexes(); err != nil {
			return nil, fmt.Errorf("after %s: %w", c, err)
		}
		if err := r.between(); err != nil {
			return nil, fmt.Errorf("after %s: %w", c, err)
		}
	}
	return r.printed, nil
}

// begin makes a new state. Who asked for read-uncommitted may read what was never committed.
func (r *room) begin() {
	r.s = infer.New(r.opt)
	if r.tentative > 0 {
		r.s.KeepUnobserved(r.tentative)
	}
	asked := uint32(xxh3.HashString("read-uncommitted")) | 1
	r.s.AskWhoReadsAnything(func(n uint32) bool { return r.s.Txns[n].Asked == asked })
}

// between does what the manner asks for between two commands.
func (r *room) between() error {
	switch r.manner {
	case "snapshots":
		reader := &flat.Reader{Bytes: r.s.AppendState(flat.NewWriter(nil)).Bytes()}
		untimed := r.s.Untimed()
		r.begin()
		r.s.LiveUntimed(untimed)
		r.s.ReadState(reader)
		return reader.Err
	case "spilled":
		r.spill()
	}
	return nil
}

// indexes says whether each index holds what is in use, and nothing else.
func (r *room) indexes() error {
	s := r.s
	used := map[string][2]int{
		"ids":               {s.ByID.Used, count(s.Txns, func(x *ledger.Txn) bool { return x.Id != (event.Hash{}) })},
		"keys":              {s.ByKey.Used, count(s.Keys, func(x *ledger.Key) bool { return x.Initial != 0 })},
		"versions":          {s.ByVersion.Used, count(s.Versions, func(x *ledger.Version) bool { return x.Key != 0 && x.Flags&ledger.InitialVersion == 0 })},
		"sessions":          {s.BySession.Used, count(s.Sessions, func(x *ledger.Session) bool { return x.Hash != (event.Hash{}) })},
		"free transactions": {s.Free.Txns.Len(), count(s.Txns[1:], func(x *ledger.Txn) bool { return x.Gen == 0 })},
		"free versions":     {s.Free.Versions.Len(), count(s.Versions[1:], func(x *ledger.Version) bool { return x.Key == 0 })},
		"free writes":       {s.Free.Writes.Len(), count(s.Writes[1:], func(x *ledger.Write) bool { return x.Version == 0 })},
		"free readers":      {s.Free.Readers.Len(), count(s.Readers[1:], func(x *ledger.Reader) bool { return x.Version == 0 })},
	}
	for name, n := range used {
		if n[0] != n[1] {
			return fmt.Errorf("%s: %d are noted, %d are there", name, n[0], n[1])
		}
	}
	if s.Txns[0] != (ledger.Txn{}) || s.Versions[0] != (ledger.Version{}) || s.Keys[0] != (ledger.Key{}) || s.Writes[0] != (ledger.Write{}) || s.Readers[0] != (ledger.Reader{}) {
		return errors.New("number 0, which is nobody's, holds something")
	}
	stale := slices.ContainsFunc(s.Versions, func(x ledger.Version) bool { return x.Key == 0 && x != ledger.Version{} }) ||
		slices.ContainsFunc(s.Writes, func(x ledger.Write) bool { return x.Version == 0 && x != ledger.Write{} }) ||
		slices.ContainsFunc(s.Readers, func(x ledger.Reader) bool { return x.Version == 0 && x != ledger.Reader{} })
	if stale {
		return errors.New("a free number holds something that its next user would find")
	}
	return nil
}

func count[T any](all []T, is func(*T) bool) (n int) {
	for i := range all {
		if is(&all[i]) {
			n++
		}
	}
	return n
}

func (r *room) command(name, rest string) error {
	if name == "options" {
		return r.options(rest)
	}
	if r.s == nil {
		r.begin()
	}
	if name != "txn" && name != "json" {
		if err := r.bringAll(); err != nil {
			return err
		}
	}
	r.out.Reset()
	switch name {
	case "txn":
		record, err := r.record(rest)
		if err != nil {
			return err
		}
		return r.add(record)
	case "json":
		return r.add([]byte(rest))
	case "decide", "expire":
		now, gone := int64(math.MaxInt64/2), int64(math.MinInt64)
		if rest != "" {
			n, err := strconv.ParseInt(rest, 10, 64)
			if err != nil {
				return err
			}
			now = n * millisecond
		}
		if name == "expire" {
			r.s.Expire(now, &r.out)
		} else if r.s.Undecided(now, gone) {
			r.s.Decide(now, gone, &r.out)
		}
		r.print("")
		return nil
	case "retire":
		for _, id := range strings.Fields(rest) {
			n := r.s.WithID(id, "")
			if n == 0 {
				return fmt.Errorf("%s is not in memory", id)
			}
			r.out.Reset()
			r.s.WarmRetire([]uint32{n})
			r.s.Retire(n, &r.out)
			r.print("")
		}
		return nil
	}
	return r.query(name, rest)
}

// options sets those that are named, as name or name=ms. tentative=N is no option of inference: it is how
// many unknown transactions are kept behind the window.
func (r *room) options(rest string) error {
	o := ledger.Options{}
	flags := map[string]*bool{
		"complete": &o.Complete, "existing": &o.Existing, "unmonitored": &o.UnmonitoredWriters, "deletes-unseen": &o.DeletesUnseen,
		"by-version": &o.ByVersion, "observed": &o.Observed, "rows": &o.Rows, "tracked": &o.Tracked, "numeric-versions": &o.NumericVersions,
		"commit-timestamps": &o.TrustCommitTS, "sequential-keys": &o.SequentialKeys, "linearizable-keys": &o.LinearizableKeys,
		"asked-alike": &o.AskedAlike, "real-time": &o.RealTime, "linear": &o.Linear, "whole": &o.Whole, "begins": &o.Begins,
	}
	spans := map[string]*int64{"baseline": &o.BaselineSpan, "max-txn": &o.MaxTxn, "drift": &o.ClockDrift}
	for _, word := range strings.Fields(rest) {
		name, value, _ := strings.Cut(word, "=")
		if flag := flags[name]; flag != nil && value == "" {
			*flag = true
			continue
		}
		if name == "tentative" {
			n, err := strconv.Atoi(value)
			if err != nil {
				return err
			}
			r.tentative = n
			continue
		}
		span, ms := spans[name], 0
		if n, err := fmt.Sscan(value, &ms); span == nil || n != 1 {
			return fmt.Errorf("no option is %q: %v", word, err)
		}
		*span = int64(ms) * millisecond
	}
	if r.opt = o; r.s != nil {
		r.s.SetOptions(o)
	}
	return nil
}

// record makes a record of a line: as internal/workload reads it, with times in ms, and with
// epoch=E and isolation=LEVEL.
func (r *room) record(line string) ([]byte, error) {
	head, ops, ok := strings.Cut(line, ":")
	if !ok {
		return nil, fmt.Errorf("no operations")
	}
	var kept []string
	extra, session, seq := "", "", ""
	for _, w := range strings.Fields(head) {
		switch name, value, _ := strings.Cut(w, "="); name {
		case "epoch", "isolation":
			extra += fmt.Sprintf("%q:%q,", name, value)
		case "commit-ts":
			extra += fmt.Sprintf(`"commit_ts":%s,`, value)
		case "session":
			session = value
			kept = append(kept, w)
		case "seq":
			seq = value
		default:
			kept = append(kept, w)
		}
	}
	if session != "" && seq == "" {
		seq = strconv.FormatInt(r.seqs[session]+1, 10)
	}
	if session != "" {
		kept = append(kept, "seq="+seq)
		if n, err := strconv.ParseInt(seq, 10, 64); err == nil {
			r.seqs[session] = n
		}
	}
	txns, err := workload.Parse("txn " + strings.Join(kept, " ") + ":" + ops)
	if err != nil {
		return nil, err
	}
	t := &txns[0]
	t.Start, t.End = t.Start*millisecond, t.End*millisecond
	return append([]byte("{"+extra), workload.AppendJSON(nil, t)[1:]...), nil
}

// add takes in a record as a driver does: what it needs from disk, then the record.
func (r *room) add(record []byte) error {
	b := &event.Batch{Partitions: []string{"test"}}
	var d event.Decoder
	d.Decode(b, event.Position{Offset: r.records}, record)
	if len(b.Bad) > 0 {
		return fmt.Errorf("%s", b.Bad[0].Reason)
	}
	r.records++
	t := &b.Txns[0]
	start, end := t.Start, t.End
	if t.Flags&event.HasTimes == 0 {
		start, end = r.records*1024, r.records*1024 // logical time
		r.s.LiveUntimed(max(r.s.Untimed(), 1024))
	}
	if err := r.bring(func(need func(ledger.Ref)) { r.s.Needs(b, t, need) }); err != nil {
		return err
	}
	r.s.Plan(b, []int32{0})
	r.s.Add(b, t, start, end, &r.out)
	r.print(b.Text(t.ID))
	return nil
}
