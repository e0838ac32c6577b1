package config

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/isowatch/isowatch/internal/isolation"
)

// Defaults of [Probe].
const (
	DefaultProbeRate     = 50 // transactions a second, of all sessions
	DefaultProbeSessions = 8
	DefaultProbeKeys     = 20
	DefaultProbeWorkload = "mix"
	DefaultProbeSchema   = "isowatch_probe"

	maxProbeSessions = 1000
	maxProbeRate     = 1e6

	// probeLateness is enough: all clients are in this process, and their records come as
	// their transactions end.
	probeLateness = time.Second
)

// Workloads are those that a probe knows.
var workloads = []string{"mix", "register", "append", "rows", "bank", "blind", "counter"}

// Probe is a small workload that the service itself runs on a database. Its records are of
// a source of its own.
type Probe struct {
	URL       string
	Password  Secret // takes the place of the URL's
	Source    string // default: the host and the database of URL
	Isolation string // SQL's words; default: the database's own setting
	Expect    string // a level, or PRODUCT/SETTING; default: what the product documents for its setting
	Rate      float64
	Sessions  int
	Keys      int
	Workload  string
	Schema    string
	Endpoints []string // URLs of replicas or nodes of the same database
	Stale     bool     // reads of replicas are declared stale
}

// NewProbe has the defaults, and no URL.
func NewProbe() Probe {
	return Probe{
		Rate: DefaultProbeRate, Sessions: DefaultProbeSessions, Keys: DefaultProbeKeys,
		Workload: DefaultProbeWorkload, Schema: DefaultProbeSchema,
	}
}

func (p *Probe) fields() []field {
	return slices.Concat(
		[]field{{"url", databaseURL{&p.URL}}},
		p.Password.keys("password"),
		[]field{
			{"source", text{&p.Source}},
			{"isolation", text{&p.Isolation}},
			{"expect", text{&p.Expect}},
			{"rate", decimal{&p.Rate}},
			{"sessions", number{&p.Sessions}},
			{"keys", number{&p.Keys}},
			{"workload", oneOf{&p.Workload, workloads}},
			{"schema", text{&p.Schema}},
			{"endpoints", listing{to: &p.Endpoints, shown: MaskDatabaseURL}},
			{"stale", truth{&p.Stale}},
		})
}

// SourceName is the source of the probe's records.
func (p *Probe) SourceName() string {
	if p.Source != "" {
		return p.Source
	}
	scheme, rest, _ := strings.Cut(p.URL, ":")
	switch scheme {
	case "exec":
		words := append(strings.Fields(rest), "")
		return "exec:" + path.Base(words[0])
	case "sim":
		return p.URL
	}
	u, err := url.Parse(p.URL)
	if err != nil {
		return scheme
	}
	if scheme == "sqlite" {
		return path.Base(u.Path)
	}
	host := u.Host
	if host == "" {
		host = "localhost"
	}
	return host + strings.TrimRight(u.Path, "/")
}

// Product is the name that package isolation has for what the URL names, "" for none.
func (p *Probe) Product() string {
	scheme, _, _ := strings.Cut(p.URL, ":")
	switch scheme {
	case "postgres", "postgresql":
		return "postgresql"
	case "mysql", "mariadb", "sqlite":
		return scheme
	}
	return ""
}

// usualSettings are the isolation levels of products that nobody has set otherwise.
var usualSettings = map[string]string{
	"postgresql": "read-committed", "mysql": "repeatable-read", "mariadb": "repeatable-read", "sqlite": "serializable",
}

// Expected is the level or the PRODUCT/SETTING that the database is held to, as far as the
// configuration tells. It is "" where the product is not known.
func (p *Probe) Expected() string {
	product := p.Product()
	switch {
	case p.Expect != "":
		return p.Expect
	case strings.HasPrefix(p.URL, "sim:"):
		return strings.TrimPrefix(p.URL, "sim:") // the level that is simulated
	case product == "":
		return ""
	case p.Isolation != "":
		return product + "/" + setting(p.Isolation)
	}
	return product + "/" + usualSettings[product]
}

// setting is an isolation level in SQL's words as package isolation names it.
func setting(words string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(strings.TrimSpace(words)), " ", "-"), "_", "-")
}

// Watch is how the probe's source is watched: as w is, except for the contract, which the probe
// knows of its own records. They are complete, and begin with empty tables that nobody else
// writes. Values are unique and deletes recorded. Every transaction is judged by the expected level.
func (p *Probe) Watch(w Watch) Watch {
	w.Contract = WholeContract()
	w.Contract.IgnoreIsolation = true
	w.Lateness = min(w.Lateness, probeLateness)
	w.Patterns, w.Sessions = nil, nil
	if expected := p.Expected(); expected != "" {
		_ = w.SetExpect(expected) // checked by validate
	}
	return w
}

func (p *Probe) validate() error {
	var f faults
	f.each("", "url", []string{p.URL}, probeURL)
	f.each("", "endpoints", p.Endpoints, probeURL)
	p.Password.check(&f, "password")
	if hasPassword(p.URL) && p.Password.IsSet() {
		f.add("url", "url: the password is given twice, in the URL and by password-file or password-env: leave one out")
	}
	if len(p.Endpoints) > 0 && p.Product() == "" {
		f.add("endpoints", "endpoints: only databases with a URL of their own have several")
	}
	if p.Stale && len(p.Endpoints) == 0 {
		f.add("stale", "stale: it is about endpoints, and none is listed")
	}
	if p.Source == SelfTestSource {
		f.add("source", "source %s: the self-test has this name", p.Source)
	}
	if p.Rate <= 0 || p.Rate > maxProbeRate {
		f.add("rate", "rate %g: want more than 0 and at most %g transactions a second", p.Rate, float64(maxProbeRate))
	}
	if p.Sessions < 1 || p.Sessions > maxProbeSessions {
		f.add("sessions", "sessions %d: want 1 to %d", p.Sessions, maxProbeSessions)
	}
	if p.Keys < 4 {
		f.add("keys", "keys %d: must be at least 4", p.Keys)
	}
	if !isIdentifier(p.Schema) {
		f.add("schema", "schema %q: want lower-case letters, digits and underscores, at most 40, a letter first", p.Schema)
	}
	p.validateLevel(&f)
	return f.err()
}

// validateLevel looks at isolation and expect.
func (p *Probe) validateLevel(f *faults) {
	product := p.Product()
	if p.Isolation != "" && product == "" && probeURL(p.URL) == nil {
		f.add("isolation", "isolation: it is for SQL databases; this URL itself names the level, or a command that sets it")
	}
	if p.Isolation != "" && product != "" {
		asked := product + "/" + setting(p.Isolation)
		_, known, err := isolation.ParseExpected(asked)
		if err == nil && known != asked {
			err = fmt.Errorf("want SQL's words, as in %q", strings.ReplaceAll(strings.TrimPrefix(known, product+"/"), "-", " "))
		}
		if err != nil {
			f.add("isolation", "isolation %q: %v", p.Isolation, err)
			return
		}
	}
	expected := p.Expected()
	if expected == "" && probeURL(p.URL) == nil {
		f.add("expect", "expect: the URL does not show the product: name the level that is expected")
	}
	if expected == "" || p.Expect == "" && product != "" {
		return
	}
	if _, _, err := isolation.ParseExpected(expected); err != nil {
		f.add("expect", "expect: %v", err)
	}
}

// probeURL says what is wrong with a URL. It never quotes it: there may be a password in it.
func probeURL(text string) error {
	scheme, rest, found := strings.Cut(text, ":")
	switch {
	case text == "":
		return errors.New("no database is named")
	case !found:
		return errors.New("not a URL")
	case scheme == "sim" || scheme == "exec":
		if strings.TrimSpace(rest) == "" {
			return fmt.Errorf("%s: what follows it is missing", scheme)
		}
		return nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Opaque != "":
		return errors.New("not a URL")
	case scheme == "sqlite":
		if u.Host != "" || strings.Trim(u.Path, "/") == "" {
			return errors.New("want sqlite:///FILE, with a fourth slash where the path is absolute")
		}
		return nil
	case !slices.Contains([]string{"postgres", "postgresql", "mysql", "mariadb"}, scheme):
		return fmt.Errorf("scheme %q is not one of postgres, mysql, mariadb, sqlite, sim and exec", scheme)
	}
	return nil
}

func hasPassword(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	_, has := u.User.Password()
	return has
}

// isIdentifier says whether a text can name a schema without quotes everywhere.
func isIdentifier(s string) bool {
	for i, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || c == '_' || i > 0 && '0' <= c && c <= '9') {
			return false
		}
	}
	return s != "" && len(s) <= 40
}

// MaskDatabaseURL is the URL of a database without its password and its options, since an
// option may be a password. For a command it is only the first word.
func MaskDatabaseURL(text string) string {
	scheme, rest, _ := strings.Cut(text, ":")
	switch {
	case text == "" || scheme == "sim" || scheme == "sqlite":
		return text
	case scheme == "exec":
		first, _, more := strings.Cut(strings.TrimSpace(rest), " ")
		if more {
			first += " " + Masked
		}
		return "exec:" + first
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.Scheme == "" {
		return Masked
	}
	masked := u.Scheme + "://"
	if u.User != nil {
		if masked += u.User.Username(); hasPassword(text) {
			masked += ":" + Masked
		}
		masked += "@"
	}
	masked += u.Host + u.Path
	if u.RawQuery != "" || u.Fragment != "" {
		masked += "?" + Masked
	}
	return masked
}

// databaseURL is the URL of a database, shown as [MaskDatabaseURL] has it.
type databaseURL struct{ to *string }

func (l databaseURL) String() string         { return MaskDatabaseURL(*l.to) }
func (l databaseURL) set(value string) error { *l.to = value; return nil }
