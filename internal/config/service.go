package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Defaults of [Service].
const (
	DefaultData     = "./isowatch-data"
	DefaultHTTP     = "127.0.0.1:8080"
	DefaultNATSPort = 4222
	DefaultStream   = "ISOWATCH"
	DefaultSubjects = "isowatch.events.>"
	DefaultSource   = "default"
	// DefaultMaxAge bounds what the embedded server keeps: a replay reaches as far
	// back.
	DefaultMaxAge = 24 * time.Hour
	// DefaultMinFree leaves room for what a store writes beside its content: three
	// memory tables' logs, a compaction and a value log.
	DefaultMinFree = 512 * MiB
	// LeastMinFree is room for the writes of Badger once the intake pauses. These are three tables
	// from memory (84 MiB), a compaction of five tables (140 MiB), and the rest of a step. It writes
	// through shared mappings, where a full disk kills the process. A calm store writes smaller
	// tables, but one that was busy until the pause has full ones.
	LeastMinFree = 256 * MiB
	// LeastMemory has room for the runtime, the store and a small window.
	LeastMemory = 128 * MiB
	// Off as an address: no web server.
	Off = "off"
)

// Values of [Service.Durability].
const (
	Async = "async" // a killed process; a power cut may lose what the latest second committed
	Fsync = "fsync" // a power cut: every commit is synced before the next
)

// Auto as a size: the program chooses it.
const Auto = "auto"

// CheckMemory says why so little memory is refused.
func CheckMemory(s Size) error {
	if s >= LeastMemory {
		return nil
	}
	return fmt.Errorf("memory %v: at least %v. With less, the store and the input leave no room for transactions", s, LeastMemory)
}

// isReplicaName says whether s is good as a label of metrics and as a word in a log. Names of hosts and of pods are such names.
func isReplicaName(s string) bool { return isName(s, 100, "._-") }

// Service is everything that a running monitor is told.
type Service struct {
	Data string // folder of the store, the embedded server's stream and the socket
	// Replica names this monitor among several that watch the same, in its metrics and its log; "": no name.
	Replica string
	// Group: this monitor shares its inputs with others.
	Group Group
	// Durability says which crashes a committed step survives: Async or Fsync.
	Durability string
	// MinFree is the free space of the folder's disk below which no input is taken.
	MinFree Size
	// Memory bounds the resident memory of the process. 0: the caller of the service decides.
	Memory  Size
	Log     Log
	HTTP    HTTP
	Watch   Watch    // of sources that are not named
	Sources []Source // their metrics exist from the start
	// SelfTest is how often a false record is planted that has to be found; 0: never.
	SelfTest  time.Duration
	Inputs    []Input // whose records name their sources; none at all: the embedded server
	Embedded  Embedded
	Sinks     []Sink // beside standard output
	Retention Retention

	overlay func(*Watch) // of a source before its own keys are read; nil: none
}

// Log chooses the lines that go to standard error.
type Log struct {
	Level  string // debug, info, warn, error
	Format string // text, json
}

// Embedded is the NATS server inside the process.
type Embedded struct {
	Port   int // 0 or -1: any free one
	MaxAge time.Duration
}

// DefaultService is `monitor run` without flags.
func DefaultService() Service {
	w := DefaultWatch(LiveContract())
	w.KeyCap = DefaultKeyCap
	return Service{
		Watch: w, Data: DefaultData, Durability: Async, MinFree: DefaultMinFree,
		Group: Group{Lease: DefaultLease}, Log: Log{"info", "text"}, HTTP: HTTP{Address: DefaultHTTP},
		Embedded:  Embedded{Port: DefaultNATSPort, MaxAge: DefaultMaxAge},
		Retention: DefaultRetention(),
	}
}

func (s *Service) fields() []field {
	return []field{
		{"data", text{&s.Data}},
		{"replica", text{&s.Replica}},
		{"group", &s.Group},
		{"durability", oneOf{&s.Durability, []string{Async, Fsync}}},
		{"min-free", size{&s.MinFree}},
		{"memory", orAuto{size{&s.Memory}}},
		{"log", &s.Log},
		{"http", &s.HTTP},
		{"watch", &s.Watch},
		{"sources", several(&s.Sources, s.newSource)},
		{"inputs", several(&s.Inputs, nil)},
		{"embedded-nats", &s.Embedded},
		{"self-test", period{&s.SelfTest}},
		{"sinks", several(&s.Sinks, NewSink)},
		{"retention", &s.Retention},
	}
}

func (s *Service) newSource() Source {
	x := Source{Watch: s.Watch}
	if s.overlay != nil {
		s.overlay(&x.Watch)
	}
	return x
}

func (l *Log) fields() []field {
	return []field{
		{"level", oneOf{&l.Level, []string{"debug", "info", "warn", "error"}}},
		{"format", oneOf{&l.Format, []string{"text", "json"}}},
	}
}

func (e *Embedded) fields() []field {
	return []field{{"port", number{&e.Port}}, {"max-age", period{&e.MaxAge}}}
}

// PlacedInput is an input and the source of the records in it that name none.
type PlacedInput struct {
	Input
	Source string
	Only   bool // no record is of another source
}

// AllInputs are the inputs of the sources and the inputs without one.
func (s *Service) AllInputs() []PlacedInput {
	var all []PlacedInput
	for _, x := range s.placed() {
		all = append(all, PlacedInput{*x.Input, x.Source, x.only})
	}
	return all
}

func (s *Service) placed() []placedInput {
	var all []placedInput
	for i := range s.Inputs {
		of := DefaultSource
		if p := s.Inputs[i].Probe; p != nil {
			of = p.SourceName()
		}
		all = append(all, placedInput{&s.Inputs[i], of, s.Inputs[i].Probe != nil, at("inputs", i)})
	}
	for n := range s.Sources {
		for i := range s.Sources[n].Inputs {
			all = append(all, placedInput{&s.Sources[n].Inputs[i], s.Sources[n].Name, s.Sources[n].OwnInputs, join(at("sources", n), at("inputs", i))})
		}
	}
	return all
}

// Holding is s with the source of a probe that names nothing itself held to what is expected;
// nil if it is already.
func (s *Service) Holding(source, expected string) *Service {
	for i := range s.Inputs {
		p := s.Inputs[i].Probe
		if p == nil || p.SourceName() != source || p.Expected() == expected {
			continue
		}
		next, held := *s, *p
		held.Expect = expected
		next.Inputs = slices.Clone(s.Inputs)
		next.Inputs[i].Probe = &held
		return &next
	}
	return nil
}

// UsesEmbedded says whether no input is named.
func (s *Service) UsesEmbedded() bool { return len(s.placed()) == 0 }

// UsesStdin says whether standard input is read, to its end.
func (s *Service) UsesStdin() bool {
	return slices.ContainsFunc(s.placed(), func(x placedInput) bool { return x.Stdin })
}

// Probes are those among the inputs.
func (s *Service) Probes() []*Probe {
	var all []*Probe
	for i := range s.Inputs {
		if p := s.Inputs[i].Probe; p != nil {
			all = append(all, p)
		}
	}
	return all
}

// WatchOf is how a source is watched.
func (s *Service) WatchOf(source string) *Watch {
	for i := range s.Sources {
		if s.Sources[i].Name == source {
			return &s.Sources[i].Watch
		}
	}
	for _, p := range s.Probes() {
		if p.SourceName() == source {
			w := p.Watch(s.Watch)
			return &w
		}
	}
	if source == SelfTestSource && s.SelfTest > 0 {
		w := selfTestWatch()
		return &w
	}
	return &s.Watch
}

// Differ says whether named sources promise different levels.
func (s *Service) Differ() bool {
	names := s.SourceNames()
	first := s.WatchOf(names[0]).Expect
	return slices.ContainsFunc(names, func(name string) bool { return s.WatchOf(name).Expect != first })
}

// SourceNames are the named sources and the sources of probes, or else the default one. It is
// among them too where there are other inputs than probes, and no source is named.
func (s *Service) SourceNames() []string {
	var names []string
	for i := range s.Sources {
		names = append(names, s.Sources[i].Name)
	}
	probes := s.Probes()
	if len(names) == 0 && (len(probes) == 0 || len(probes) < len(s.Inputs)) {
		names = []string{DefaultSource}
	}
	for _, p := range probes {
		names = append(names, p.SourceName())
	}
	return names
}

// Validate lists every fault that can be seen without opening anything.
func (s *Service) Validate() error {
	var f faults
	if s.Data == "" {
		f.add("data", "data: no folder is named")
	}
	if s.Replica != "" && !isReplicaName(s.Replica) {
		f.add("replica", "replica %q: want at most 100 letters, digits, dots, underscores and hyphens", s.Replica)
	}
	if s.Durability != Async && s.Durability != Fsync {
		f.add("durability", "durability %q: want %s or %s", s.Durability, Async, Fsync)
	}
	if s.MinFree < LeastMinFree {
		f.add("min-free", "min-free %v: at least %v. The store still writes that much after reading has paused, and a full disk kills the process", s.MinFree, LeastMinFree)
	}
	if err := CheckMemory(s.Memory); s.Memory != 0 && err != nil {
		f.add("memory", "%v", err)
	}
	f.in("http", "", s.HTTP.Validate())
	f.in("watch", "", s.Watch.Validate())
	if p := s.Embedded.Port; p < -1 || p > 65535 {
		f.add("embedded-nats.port", "nats-port %d: not in 0 to 65535; 0 takes any free one", p)
	}
	if s.Embedded.MaxAge < 0 {
		f.add("embedded-nats.max-age", "nats-max-age %v: must not be negative", s.Embedded.MaxAge)
	}
	s.validateSources(&f)
	s.validateInputs(&f)
	s.validateSelfTest(&f)
	s.validateGroup(&f)
	s.validateSinks(&f)
	f.in("retention", "", s.Retention.validate())
	return f.err()
}

func (s *Service) validateSources(f *faults) {
	seen := map[string]bool{}
	for i := range s.Sources {
		x, path := &s.Sources[i], at("sources", i)
		switch {
		case x.Name == "":
			f.add(path, "source %d: it has no name", i+1)
		case seen[x.Name]:
			f.add(join(path, "name"), "source %s is named twice", x.Name)
		case x.Name == SelfTestSource:
			f.add(join(path, "name"), "source %s: the self-test has this name", x.Name)
		case slices.ContainsFunc(s.Probes(), func(p *Probe) bool { return p.SourceName() == x.Name }):
			f.add(join(path, "name"), "source %s belongs to a probe, which has its own settings: leave it out here", x.Name)
		}
		seen[x.Name] = true
		if x.Watch.Validate() != nil && s.Watch.Validate() == nil { // else it may be a fault of all
			f.in(path, "source "+x.Name, x.Watch.Validate())
		}
	}
}

func (s *Service) validateInputs(f *faults) {
	all := s.placed()
	for _, x := range all {
		f.in(x.path, "", x.Validate())
		if x.Probe != nil && strings.HasPrefix(x.path, "sources") {
			f.add(x.path, "probe: it has a source of its own: put it under inputs at the top, and name its source there")
		}
	}
	if s.UsesStdin() && len(all) > 1 {
		f.add("inputs", "standard input ends, and cannot be read beside inputs that do not")
	}
	checkInputs(f, all)
}

func (s *Service) validateSinks(f *faults) {
	seen := map[string]bool{}
	for i := range s.Sinks {
		x, path := &s.Sinks[i], at("sinks", i)
		f.in(path, strings.TrimSpace("sink "+x.Label()), x.Validate())
		if name := x.Label(); name != "" && seen[name] {
			f.add(join(path, "name"), "two sinks are called %q: give each a name", name)
		} else if slices.Contains([]string{"text", "jsonl", "log", SelfTestSource}, name) {
			f.add(join(path, "name"), "sink %q: standard output, or the self-test, has this name", name)
		} else {
			seen[name] = true
		}
	}
}
