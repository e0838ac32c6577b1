package config

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/isolation"
)

func full(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// testdata/faults.txt holds files and all that is wrong with them.
func TestParseFaults(t *testing.T) {
	text, err := os.ReadFile("testdata/faults.txt")
	if err != nil {
		t.Fatal(err)
	}
	long := regexp.MustCompile(`the nearest are .*`)
	for _, section := range strings.Split(string(text), "\n=== ")[1:] {
		name, body, _ := strings.Cut(section, "\n")
		file, want, ok := strings.Cut("\n"+body, "\n----")
		if !ok {
			t.Fatalf("%s: no ----", name)
		}
		t.Run(name, func(t *testing.T) {
			_, err := Parse("f", []byte(strings.TrimPrefix(file, "\n")), nil)
			got := ""
			if err != nil {
				got = long.ReplaceAllString(err.Error(), "the nearest are ...")
			}
			if want = strings.TrimSpace(want); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
			if strings.Contains(got, "hidden") {
				t.Error("a secret is shown")
			}
		})
	}
}

func everyProbe() Probe {
	return Probe{
		URL: "postgres://canary:hidden@db.example:5432/shop?sslpassword=hidden", Source: "shop-probe", Isolation: "REPEATABLE READ",
		Expect: "postgresql/serializable", Rate: 2.5, Sessions: 4, Keys: 10, Workload: "bank", Schema: "canary",
		Endpoints: []string{"postgres://canary:hidden@replica/shop"}, Stale: true,
	}
}

func TestParseEverything(t *testing.T) {
	s, err := Parse("full.yaml", full(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	serializable, si := isolation.Level{Base: isolation.Serializable}, isolation.Level{Base: isolation.SnapshotIsolation}
	orders, billing := s.WatchOf("orders"), s.WatchOf("billing")
	for what, ok := range map[string]bool{
		"data":            s.Data == "/var/lib/isowatch" && s.Replica == "monitor-0.b" && s.Durability == Fsync && s.MinFree == GiB,
		"http":            s.HTTP.Address == "0.0.0.0:8080" && s.HTTP.Profiles && s.HTTP.Token.Env == "ISOWATCH_TOKEN" && s.HTTP.Guarded() && !s.HTTP.Loopback(),
		"watch":           s.Watch.Expect == si && s.Watch.Named && len(s.Watch.Levels) == 2 && s.Watch.Window.Duration == 90*time.Second,
		"contract":        s.Watch.Contract.String() == "capture=complete,start=empty,unmonitored-writers=no,deletes=unseen,value-identity=version,version-order=numeric,trust-commit-ts=true,sequential-keys=true,linearizable-keys=true,isolation=ignore,begins=recorded,sessions=closed,wfr-keys=true,clock-drift=5ms",
		"sessions":        slices.Equal(s.Watch.Sessions, []string{"web-1", "7"}) && slices.Equal(billing.Sessions, s.Watch.Sessions),
		"patterns":        slices.Equal(s.Watch.Patterns, []string{"acct/#/balance"}),
		"own level":       orders.Expect == serializable && orders.Window.Txns == 5000,
		"own contract":    !orders.Contract.Complete && !orders.Contract.Existing,
		"inherited":       orders.Lateness == 2*time.Second && reflect.DeepEqual(*billing, s.Watch),
		"unnamed source":  s.WatchOf("other") == &s.Watch,
		"inputs":          len(s.AllInputs()) == 5 && s.AllInputs()[0].Source == DefaultSource && s.AllInputs()[4].Source == "orders" && s.AllInputs()[4].Only && !s.AllInputs()[0].Only && s.AllInputs()[2].Only,
		"kafka":           s.AllInputs()[4].Kafka.Mechanism == "SCRAM-SHA-512" && s.AllInputs()[4].Kafka.Topics[0] == "orders",
		"probe":           s.AllInputs()[2].Source == "shop-probe" && reflect.DeepEqual(*s.Probes()[0], everyProbe()),
		"probe, usual":    s.AllInputs()[3].Source == "db/shop" && s.Probes()[1].Password.Env == "CANARY_PASSWORD" && s.Probes()[1].Rate == DefaultProbeRate,
		"probe's watch":   s.WatchOf("shop-probe").Expected() == "postgresql/serializable" && s.WatchOf("db/shop").Expected() == "mysql/repeatable-read",
		"probe's window":  s.WatchOf("db/shop").Window == s.Watch.Window && s.WatchOf("db/shop").Lateness == time.Second && s.WatchOf("db/shop").Contract == Contract{Complete: true, IgnoreIsolation: true},
		"source names":    slices.Equal(s.SourceNames(), []string{"orders", "billing", "shop-probe", "db/shop"}),
		"self-test":       s.SelfTest == 30*time.Second && s.WatchOf(SelfTestSource).Expect.String() == "read-committed",
		"pager":           s.Sinks[0].Label() == "pager" && s.Sinks[0].Limit() == 3 && s.Sinks[0].Every == 5*time.Minute,
		"alertmanager":    s.Sinks[1].Label() == "alertmanager" && s.Sinks[1].Limit() == 0 && s.Sinks[1].Alertmanager.Hold == 30*time.Minute,
		"broker sinks":    s.Sinks[2].NATS.JetStream && s.Sinks[3].Kafka.Topic == "findings" && s.Sinks[4].File.Path != "",
		"default of send": s.Sinks[1].Send == SendAlerts && s.Sinks[0].Send == SendAll,
		"retention":       s.Retention == Retention{Findings: Keep{48 * time.Hour, 10 * MiB}, DeadLetters: Keep{time.Hour, MiB}, Deltas: Keep{0, 8 * MiB}, Evidence: 12 * time.Hour},
	} {
		if !ok {
			t.Errorf("%s: %+v", what, s)
		}
	}
}

// What is shown is read back as the same, but for what is masked.
func TestYAMLRoundTrip(t *testing.T) {
	for name, text := range map[string]string{"full": string(full(t)), "defaults": "", "null": "data: \"null\"\nlog: {level: warn}"} {
		s, err := Parse(name, []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		shown, err := s.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(shown), "hidden") {
			t.Errorf("%s: a secret is shown:\n%s", name, shown)
		}
		back, err := Parse("shown", shown, nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, shown)
		}
		if name == "full" {
			s.Inputs[0].NATS.URLs[0] = "nats://(secret)@n1:4222"
			s.Inputs[2].Probe.URL = "postgres://canary:(secret)@db.example:5432/shop?(secret)"
			s.Inputs[2].Probe.Endpoints[0] = "postgres://canary:(secret)@replica/shop"
			s.Sinks[0].Webhook.URL = "https://hooks.example/(secret)"
			s.Sinks[1].Alertmanager.URLs[1] = "https://(secret)@am2/(secret)"
		}
		if !reflect.DeepEqual(back, s) {
			t.Errorf("%s reads back as\n%+v\nwas\n%+v", name, back, s)
		}
	}
}

// The file's common settings give way to the command line's, and a source's own do not.
func TestOverlay(t *testing.T) {
	s, err := Parse("f", []byte("watch: {lateness: 1s}\nsources: [{name: a}, {name: b, lateness: 2s}]"), func(w *Watch) { w.Lateness = 3 * time.Second })
	if err != nil {
		t.Fatal(err)
	}
	if a, b := s.WatchOf("a").Lateness, s.WatchOf("b").Lateness; a != 3*time.Second || b != 2*time.Second {
		t.Errorf("lateness %v and %v", a, b)
	}
}

// What a URL and an isolation level document, unless expect says it.
func TestProbeExpected(t *testing.T) {
	for _, c := range []struct{ url, isolation, expect, want string }{
		{"postgres://h/d", "", "", "postgresql/read-committed"},
		{"postgresql://h/d", "Repeatable Read", "", "postgresql/repeatable-read"},
		{"mariadb://h/d", "", "", "mariadb/repeatable-read"},
		{"mysql://h/d", "SERIALIZABLE", "", "mysql/serializable"},
		{"sqlite:///f", "", "", "sqlite/serializable"},
		{"sim:snapshot-isolation", "", "", "snapshot-isolation"},
		{"exec:client", "", "", ""},
		{"exec:client", "", "causal", "causal"},
		{"postgres://h/d", "repeatable read", "serializable", "serializable"},
	} {
		p := Probe{URL: c.url, Isolation: c.isolation, Expect: c.expect}
		if got := p.Expected(); got != c.want {
			t.Errorf("%+v is held to %q, want %q", c, got, c.want)
		}
	}
}

func TestMaskDatabaseURL(t *testing.T) {
	for url, want := range map[string]string{
		"":                                     "",
		"postgres://h/db":                      "postgres://h/db",
		"postgres://u:p%20w@h:1/db?password=x": "postgres://u:(secret)@h:1/db?(secret)",
		"mysql://u@h/":                         "mysql://u@h/",
		"sqlite:////var/lib/x.db":              "sqlite:////var/lib/x.db",
		"sim:serializable":                     "sim:serializable",
		"exec:python3 client.py --password x":  "exec:python3 (secret)",
		"exec:client":                          "exec:client",
		"postgres://u:p w@h/db":                "(secret)",
		"u:p@h":                                "(secret)",
	} {
		if got := MaskDatabaseURL(url); got != want {
			t.Errorf("%q is shown as %q, want %q", url, got, want)
		}
	}
}

func TestProbeSourceNames(t *testing.T) {
	for url, want := range map[string]string{
		"postgres://u:hidden@db.example:5432/shop?x=hidden": "db.example:5432/shop",
		"postgres:///shop?host=/run/postgresql":             "localhost/shop",
		"mysql://h":                                         "h",
		"sqlite:////var/lib/shop.db":                        "shop.db",
		"sim:serializable":                                  "sim:serializable",
		"exec:/usr/bin/client --token hidden":               "exec:client",
		"postgres://u:p w@h/db":                             "postgres",
	} {
		if got := (&Probe{URL: url}).SourceName(); got != want {
			t.Errorf("%q gives source %q, want %q", url, got, want)
		}
	}
}

func TestMaskURL(t *testing.T) {
	for url, want := range map[string]string{
		"":                          "",
		"http://h:1":                "http://h:1",
		"http://h/":                 "http://h/",
		"nats://u:p@h:4222":         "nats://(secret)@h:4222",
		"token@h":                   "(secret)@h",
		"h:4222":                    "h:4222",
		"https://h/services/X?t=Y":  "https://h/(secret)",
		"https://h?t=Y":             "https://h/(secret)",
		"http://u:p@w@h/":           "http://(secret)@h/",
		"http://":                   "(secret)",
		"http://u:p @h/":            "http://(secret)@h/",
		"my secret":                 "(secret)",
		"https://u:p@h/a@b#c":       "https://(secret)@h/(secret)",
		"https://h:1/x?y=https://z": "https://h:1/(secret)",
	} {
		if got := MaskURL(url); got != want {
			t.Errorf("MaskURL(%q) = %q, want %q", url, got, want)
		}
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]Size{"0": 0, "512MiB": 512 * MiB, "1 GiB": GiB, "3kB": 3000, "7": 7, "7B": 7, "2MB": 2e6, "4KiB": 4096, "1GB": 1e9} {
		got, err := ParseSize(text)
		if err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v", text, got, err)
		}
		if back, err := ParseSize(got.String()); err != nil || back != got {
			t.Errorf("%d is shown as %s", got, got)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "1.5GiB", "1TB", "9223372036854775807KiB", "1 2"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q) = %d", text, got)
		} else if !strings.Contains(err.Error(), "KiB, MiB, GiB, kB, MB, GB or bytes") {
			t.Errorf("%v does not name the units", err)
		}
	}
}

func FuzzParse(f *testing.F) {
	text, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("sources: [{name: x, inputs: [{tail: y}]}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse("f", text, nil)
		if err != nil {
			return
		}
		shown, err := s.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse("f", shown, nil); err != nil && !strings.Contains(string(shown), Masked) {
			t.Errorf("%v in what was shown:\n%s", err, shown)
		}
	})
}

// A tab, which YAML takes for no indent, is named.
func TestTabIsNamed(t *testing.T) {
	if _, err := Parse("f", []byte("watch:\n\tpane: 10s\n"), nil); err == nil || !strings.Contains(err.Error(), "is it a tab?") {
		t.Errorf("%v", err)
	}
}
