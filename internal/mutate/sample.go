package mutate

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Room is a package to mutate, and the files and functions of it ("file function") that are left
// alone: what they do is about speed, looks for faults of the state itself, or is read by people.
type Room struct {
	Pattern string // as go build takes it
	Without []string
	Own     []string // arguments of its own tests
	More    []Judge  // who come behind these
}

func (r *Run) names(m *Mutant) bool {
	return len(r.Named) == 0 || slices.ContainsFunc(r.Named, func(part string) bool { return strings.Contains(m.Package+" "+m.Name, part) })
}

func (r *Room) without(m *Mutant) bool {
	return slices.ContainsFunc(r.Without, func(w string) bool {
		return strings.HasPrefix(m.Name, w+" ") || strings.HasPrefix(m.Name, w+":")
	})
}

// Run holds what to try. The mutants of a seed are the same as long as the code is: each is
// taken or not by its name.
type Run struct {
	Root     string
	Rooms    []Room
	Judges   []Judge  // besides each package's own tests, the quick ones first
	Mutants  int      // at most so many; 0: all
	Named    []string // those whose package and name have one of these in them; none: all
	Seed     uint64
	Deadline time.Time // none is begun later; zero: no limit
	Workers  int
	Log      func(format string, args ...any)
}

// Tried is a mutant, and what became of it.
type Tried struct {
	Mutant
	Verdict Verdict
	By      string // judge
}

// Result holds what a run has found: what was tried in the order of names, and how many there are.
type Result struct {
	Tried []Tried
	All   map[string]Mutant // by package and name
	Late  int               // chosen, and not tried before the deadline
}

// Do tries the mutants.
func (r *Run) Do(ctx context.Context, dir string) (*Result, error) {
	res := &Result{All: map[string]Mutant{}}
	type job struct {
		b *built
		m *Mutant
	}
	var jobs []job
	for i, room := range r.Rooms {
		into := filepath.Join(dir, fmt.Sprint(i))
		if err := os.Mkdir(into, 0o700); err != nil {
			return nil, err
		}
		began := time.Now()
		b, err := build(r.Root, room.Pattern, into, slices.Concat([]Judge{{Name: "own", Args: room.Own}}, room.More, r.Judges))
		if err != nil {
			return nil, err
		}
		for j := range b.mutants {
			m := &b.mutants[j]
			m.Package = path.Base(m.Package)
			res.All[m.Package+" "+m.Name] = *m
			if !room.without(m) && r.names(m) {
				jobs = append(jobs, job{b, m})
			}
		}
		r.Log("%s: %d mutants, found in %v", room.Pattern, len(b.mutants), time.Since(began).Round(time.Second))
	}
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(r.place(a.m), r.place(b.m)) })
	if r.Mutants > 0 {
		jobs = jobs[:min(r.Mutants, len(jobs))]
	}
	var mu sync.Mutex
	next := 0
	take := func() *job {
		mu.Lock()
		defer mu.Unlock()
		if next == len(jobs) || ctx.Err() != nil {
			return nil
		}
		if !r.Deadline.IsZero() && time.Now().After(r.Deadline) {
			res.Late = len(jobs) - next
			return nil
		}
		next++
		return &jobs[next-1]
	}
	var wg sync.WaitGroup
	var failed error
	for range r.Workers {
		wg.Go(func() {
			for j := take(); j != nil; j = take() {
				verdict, by, err := j.b.judge(ctx, j.m)
				mu.Lock()
				if err != nil {
					failed = err
					next = len(jobs)
					mu.Unlock()
					return
				}
				res.Tried = append(res.Tried, Tried{*j.m, verdict, by})
				if verdict < Killed {
					r.Log("%s: %s %s", verdict, j.m.Package, j.m)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.SortFunc(res.Tried, func(a, b Tried) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Number, b.Number))
	})
	return res, failed
}

// place is where the mutant stands among all, by the seed.
func (r *Run) place(m *Mutant) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %s", r.Seed, m.Package, m.Name)
	x := h.Sum64() // its high bits hang little on the last letters: mix
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

func (m *Mutant) String() string {
	_, line, _ := strings.Cut(m.At, ":")
	file, change, _ := strings.Cut(m.Name, " ")
	return file + ":" + line + " " + change
}

// Table is how many of what was tried became what, by package and by file.
func (res *Result) Table() string {
	type row [TimedOut + 1]int
	rows, names := map[string]*row{}, []string{}
	for i := range res.Tried {
		t := &res.Tried[i]
		for _, name := range []string{t.Package, t.Package + "/" + t.file} {
			if rows[name] == nil {
				rows[name] = &row{}
				names = append(names, name)
			}
			rows[name][t.Verdict]++
		}
	}
	slices.Sort(names)
	var b strings.Builder
	fmt.Fprintf(&b, "%-36s %8s %8s %9s %9s %10s\n", "", "mutants", "killed", "timed out", "survived", "unreached")
	for _, name := range names {
		r := rows[name]
		fmt.Fprintf(&b, "%-36s %8d %8d %9d %9d %10d\n", name, r[Killed]+r[TimedOut]+r[Survived]+r[Unreached], r[Killed], r[TimedOut], r[Survived], r[Unreached])
	}
	return b.String()
}

// Known are survivors that are explained, by package and name: why.
type Known map[string]string

// ReadKnown reads a file of explained survivors: package, name, " // " and the reason.
func ReadKnown(text string) (Known, error) {
	all := Known{}
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		name, why, ok := strings.Cut(line, " // ")
		if !ok || all[name] != "" {
			return nil, fmt.Errorf("line %d: %q gives no reason, or is there twice", i+1, line)
		}
		all[name] = why
	}
	return all, nil
}

// Compare says how the result differs from what is known: survivors that nobody has
// explained, explanations of what does not survive, and of what is no mutant.
func (k Known) Compare(res *Result) []string {
	var faults []string
	for i := range res.Tried {
		t := &res.Tried[i]
		switch name := t.Package + " " + t.Name; {
		case t.Verdict < Killed && k[name] == "":
			faults = append(faults, fmt.Sprintf("%s: %s %s", t.Verdict, t.Package, &t.Mutant))
		case t.Verdict >= Killed && k[name] != "":
			faults = append(faults, fmt.Sprintf("%s does not survive any more (%s): take it out", name, t.By))
		}
	}
	rooms := map[string]bool{}
	for _, m := range res.All {
		rooms[m.Package] = true
	}
	for name := range k {
		room, _, _ := strings.Cut(name, " ")
		if _, ok := res.All[name]; !ok && rooms[room] {
			faults = append(faults, fmt.Sprintf("%q is none of the mutants: take it out", name))
		}
	}
	slices.Sort(faults)
	return faults
}
