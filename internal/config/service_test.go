package config

import (
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/isolation"
)

func TestParseWindow(t *testing.T) {
	for _, c := range []struct {
		text string
		want Window
	}{
		{"60s", Window{Duration: time.Minute}},
		{" 1h30m ", Window{Duration: 90 * time.Minute}},
		{"0", Window{}},
		{"5000 txns", Window{Duration: DefaultWindow, Txns: 5000}},
		{"1txns", Window{Duration: DefaultWindow, Txns: 1}},
	} {
		got, err := ParseWindow(c.text)
		if err != nil || got != c.want {
			t.Errorf("ParseWindow(%q) = %+v, %v; want %+v", c.text, got, err, c.want)
		}
		if back, err := ParseWindow(got.String()); err != nil || back != got {
			t.Errorf("%q reads back as %+v, %v", got, back, err)
		}
	}
	for _, text := range []string{"", "60", "-1s", "0 txns", "-5 txns", "x txns", "txns", "9999999999999999 txns", "5 s txns"} {
		if got, err := ParseWindow(text); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("ParseWindow(%q) = %+v, %v: want an error that quotes it", text, got, err)
		}
	}
}

func TestDefaultsAreValid(t *testing.T) {
	s := DefaultService()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	if !s.UsesEmbedded() {
		t.Error("without an input there is no embedded server")
	}
	if got := s.Watch.Expect; got != (isolation.Level{Base: isolation.Serializable}) {
		t.Errorf("expected level %s", got)
	}
}

func TestServiceFaults(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Service)
		want   string
	}{
		{"no folder", func(s *Service) { s.Data = "" }, "data"},
		{"a replica that is no word", func(s *Service) { s.Replica = "a b" }, "replica"},
		{"a group without a store", func(s *Service) {
			s.Group.Name, s.Inputs = "g", []Input{{NATS: &NATS{URLs: []string{"h"}, Stream: "S"}}}
		}, "--group-state"},
		{"a store without a group", func(s *Service) { s.Group.State = "file:///x" }, "--group NAME"},
		{"a lease without a group", func(s *Service) { s.Group.Lease = 2 * time.Second }, "--group NAME"},
		{"an address of a group without a scheme", func(s *Service) { s.Group.Name, s.Group.Address = "g", "10.0.0.1:8080" }, "group address: want http://HOST:PORT"},
		{"an address of a member without pages", func(s *Service) { s.Group.Name, s.Group.Address, s.HTTP.Address = "g", "http://h:1", Off }, "this member has no pages"},
		{"a store of another kind", func(s *Service) { s.Group.Name, s.Group.State = "g", "http://x" }, "file:///DIR"},
		{"a group that is no word", func(s *Service) { s.Group.Name = "a.b" }, "at most 50"},
		{"a member that is no word", func(s *Service) { s.Group.Name, s.Group.Member = "g", "a b" }, "member"},
		{"a lease under a second", func(s *Service) { s.Group.Name, s.Group.Lease = "g", 999*time.Millisecond }, "at least 1s"},
		{"a group with the embedded server", func(s *Service) { s.Group.Name = "g" }, "not shared"},
		{"a group with standard input", func(s *Service) { s.Group.Name, s.Inputs = "g", []Input{{Stdin: true}} }, "only"},
		{"a group with files", func(s *Service) { s.Group.Name, s.Inputs = "g", []Input{{Tail: []string{"x"}}} }, "only"},
		{"a group with a self-test", func(s *Service) { s.Group.Name, s.SelfTest = "g", time.Minute }, "self-test"},
		{"a replica of 101 letters", func(s *Service) { s.Replica = strings.Repeat("a", 101) }, "replica"},
		{"durability", func(s *Service) { s.Durability = "sync" }, `durability "sync": want async or fsync`},
		{"no port", func(s *Service) { s.HTTP.Address = "localhost" }, `http "localhost": want HOST:PORT`},
		{"bad port", func(s *Service) { s.HTTP.Address = ":70000" }, `port "70000"`},
		{"port by name", func(s *Service) { s.HTTP.Address = ":http" }, `port "http"`},
		{"nats port", func(s *Service) { s.Embedded.Port = 65536 }, "nats-port 65536"},
		{"nats age", func(s *Service) { s.Embedded.MaxAge = -1 }, "nats-max-age"},
		{"stdin and files", func(s *Service) { s.Inputs = []Input{{Stdin: true}, {Tail: []string{"x"}}} }, "standard input"},
		{"stdin and kafka", func(s *Service) { s.Inputs = []Input{{Stdin: true}, {Kafka: kafkaOf("t")}} }, "standard input"},
		{"no stream", func(s *Service) { s.Inputs = []Input{{NATS: &NATS{}}} }, "no stream"},
		{"no topic", func(s *Service) { s.Inputs = []Input{{Kafka: &Kafka{}}} }, "no topic"},
		{"no level", func(s *Service) { s.Watch.Levels = nil }, "levels"},
		{"nothing expected", func(s *Service) { s.Watch.Expect = isolation.Level{} }, "expect"},
		{"lateness", func(s *Service) { s.Watch.Lateness = -1 }, "lateness"},
		{"max-transaction", func(s *Service) { s.Watch.MaxTransaction = 0 }, "max-transaction"},
		{"idle", func(s *Service) { s.Watch.Idle = 0 }, "idle"},
		{"pane", func(s *Service) { s.Watch.Pane = -time.Second }, "pane"},
		{"live-cap", func(s *Service) { s.Watch.LiveCap = 0 }, "live-cap 0"},
		{"patterns", func(s *Service) { s.Watch.Patterns = []string{"a/##", "", "b", "b"} }, `"b" is named twice`},
		{"closed sessions", func(s *Service) { s.Watch.Contract.ClosedSessions = true }, "sessions has to list them all"},
		{"open sessions", func(s *Service) { s.Watch.Sessions = []string{"a"} }, "does not say sessions=closed"},
		{"sessions", func(s *Service) {
			s.Watch.Contract.ClosedSessions, s.Watch.Sessions = true, make([]string, 4097)
		}, "4097 are listed, at most 4096"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := DefaultService()
			c.change(&s)
			if err := s.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestServiceFaultsAreAllListed(t *testing.T) {
	s := DefaultService()
	s.Data, s.HTTP.Address, s.Watch.LiveCap = "", "nowhere", 0
	err := s.Validate()
	for _, want := range []string{"data", "http", "live-cap"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

func TestServiceAccepts(t *testing.T) {
	for name, change := range map[string]func(*Service){
		"no pages":         func(s *Service) { s.HTTP.Address = Off },
		"any port":         func(s *Service) { s.HTTP.Address, s.Embedded.Port = "[::1]:0", -1 },
		"every interface":  func(s *Service) { s.HTTP.Address = ":8080" },
		"no lateness":      func(s *Service) { s.Watch.Lateness = 0 },
		"stdin":            func(s *Service) { s.Inputs = []Input{{Stdin: true}} },
		"kafka and a file": func(s *Service) { s.Inputs = []Input{{Kafka: kafkaOf("t")}, {Tail: []string{"*.log"}}} },
	} {
		s := DefaultService()
		change(&s)
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func kafkaOf(topic string) *Kafka {
	return &Kafka{Brokers: []string{"k:9092"}, Topics: []string{topic}}
}
