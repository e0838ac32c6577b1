package whole

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/isowatch/isowatch/docs"
	"github.com/isowatch/isowatch/ingest/tail/lines"
)

const (
	// besideBytes bounds what files that are checked beside each other hold together, so
	// that they take no more memory than one file of that size does.
	besideBytes = 64 << 20
	// aheadFiles are checked at most while an answer before theirs is awaited.
	aheadFiles = 64
	// unpackedShare is how many times larger a packed history is taken to be unpacked.
	unpackedShare = 16
	// smallPercent is how much garbage there may be while small files are checked, of what lives: some 20 MB.
	smallPercent = 400
	// MaxDeadLetters of a file are told; all are counted.
	MaxDeadLetters = 10
)

// Answer is the answer for one of several files.
type Answer struct {
	File        string
	Report      *Report // nil where Err says why the file cannot be read
	Err         error
	DeadLetters []DeadLetter // the first of them
	NumDead     int
	fault       any // a panic, for the goroutine of CheckFiles
}

// DeadLetter is a record that cannot be decoded.
type DeadLetter struct{ Position, Reason string }

// CheckFiles checks recorded histories, small ones beside each other on all processors,
// and tells the answers in the order of the names. It ends early with an error of tell.
// The Whole's DeadLetter is not called.
func (w *Whole) CheckFiles(names []string, tell func(*Answer) error) error {
	queue := make(chan chan *Answer, aheadFiles)
	stop := make(chan struct{})
	if len(names) > 1 {
		w = w.naming()
		if c := w.Collector; c != nil && !slices.ContainsFunc(names, func(name string) bool { return sizeOf(name) > smallHistory }) {
			defer c.SetPercent(c.SetPercent(smallPercent))
		}
	}
	go func() {
		defer close(queue)
		r := newBerths(runtime.GOMAXPROCS(0), besideBytes)
		for _, name := range names {
			size := sizeOf(name)
			r.enter(size)
			answer := make(chan *Answer, 1)
			select {
			case <-stop:
				return
			default:
			}
			select {
			case <-stop:
				return
			case queue <- answer:
			}
			beside := len(names) > 1 && size <= besideBytes
			go func() {
				defer r.leave(size)
				answer <- w.guardedAnswer(name, beside)
			}()
		}
	}()
	var err error
	for answer := range queue {
		a := <-answer
		if err != nil {
			continue // what was begun ends
		}
		if a.fault != nil {
			panic(a.fault)
		}
		if err = tell(a); err != nil {
			close(stop)
		}
	}
	return err
}

// advice holds the texts on causes, made once for all files.
type advice struct {
	mu sync.Mutex
	by map[occurred]docs.Advice
}

type occurred struct {
	anomaly  string
	expected docs.Expected
}

func (a *advice) on(anomaly string, e docs.Expected) docs.Advice {
	a.mu.Lock()
	defer a.mu.Unlock()
	of := occurred{anomaly, e}
	x, ok := a.by[of]
	if !ok {
		x = docs.AdviceOn(anomaly, e)
		a.by[of] = x
	}
	return x
}

// naming is w for several files: what is done with one is told with its name, and how far the reading is
// of all together.
func (w *Whole) naming() *Whole {
	several := *w
	several.advice = &advice{by: map[occurred]docs.Advice{}}
	several.doingOf = func(name, phase string) {
		if phase == Reading || phase == ReadingAgain {
			w.doing(name, Reading)
		} else {
			w.doing(name, name+": "+phase)
		}
	}
	return &several
}

// guardedAnswer hands a panic to the goroutine that waits for the answer, where a caller can recover it.
func (w *Whole) guardedAnswer(name string, beside bool) (a *Answer) {
	defer func() {
		if fault := recover(); fault != nil {
			a = &Answer{fault: fmt.Sprintf("%v\n%s", fault, debug.Stack())}
		}
	}()
	return w.answer(name, beside)
}

func (w *Whole) answer(name string, beside bool) *Answer {
	a := &Answer{File: name}
	one := *w
	if beside {
		one.Collector = nil // its settings are of all at once
	}
	one.DeadLetter = func(position, reason string) {
		if a.NumDead++; a.NumDead <= MaxDeadLetters {
			a.DeadLetters = append(a.DeadLetters, DeadLetter{position, reason})
		}
	}
	if a.Report, a.Err = one.CheckFile(name); errors.Is(a.Err, ErrForeign) {
		a.DeadLetters, a.NumDead = nil, 0 // they say no more
	}
	return a
}

// sizeOf is how many bytes the file or folder holds; standard input, and what cannot be
// looked at, may hold any.
func sizeOf(name string) int64 {
	info, err := os.Stat(name)
	_, packed := lines.CutPacked(name)
	switch {
	case name == "-" || err != nil:
		return math.MaxInt64 / 2
	case packed:
		return unpackedShare * info.Size()
	case !info.IsDir():
		return info.Size()
	}
	size := int64(0)
	files, err := os.ReadDir(name)
	for _, f := range files {
		if info, e := f.Info(); e == nil {
			size += info.Size()
		}
	}
	if err != nil {
		return math.MaxInt64 / 2
	}
	return size
}

// berths bound what is under way at the same time: some files, of some bytes together.
// One that is too large waits until it is alone.
type berths struct {
	mu           sync.Mutex
	left         *sync.Cond
	files, most  int
	bytes, bound int64
}

func newBerths(files int, bytes int64) *berths {
	r := &berths{most: files, bound: bytes}
	r.left = sync.NewCond(&r.mu)
	return r
}

func (r *berths) enter(size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.files > 0 && (r.files >= r.most || size > r.bound-r.bytes) {
		r.left.Wait()
	}
	r.files++
	r.bytes += size
}

func (r *berths) leave(size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files--
	r.bytes -= size
	r.left.Signal()
}
