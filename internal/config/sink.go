package config

import (
	"net/url"
	"slices"
	"strings"
	"time"
)

// Values of [Sink.Send].
const (
	SendAlerts = "alerts" // what breaks the promise, for certain, and what was lost
	SendAll    = "all"    // what the expected level allows and what is not certain, too
)

// Sink is where findings go: one of Webhook, Alertmanager, NATS, Kafka and File.
type Sink struct {
	Name string // of its cursor and in metrics; "": the name of its kind
	Send string
	// PerPattern findings of one pattern go out in each Every; the others follow
	// as a digest. 0: all go out; nil: see Limit. Alertmanager groups by itself.
	PerPattern *int
	Every      time.Duration

	Webhook      *Webhook
	Alertmanager *Alertmanager
	NATS         *NATSSink
	Kafka        *KafkaSink
	File         *FileSink
}

// Defaults of [Sink].
const (
	DefaultPerPattern = 1000
	DefaultEvery      = time.Minute
	DefaultHold       = 20 * time.Minute
	DefaultResend     = time.Minute
)

// NewSink has every default but the kind.
func NewSink() Sink { return Sink{Send: SendAlerts, Every: DefaultEvery} }

// Webhook is where alerts are posted.
type Webhook struct {
	URL     string // or URLFrom, where it is a secret
	URLFrom Secret
	Secret  Secret // signs each request; none: unsigned
	CAFile  string
}

// Alertmanager is one or several that form a cluster: each is sent everything.
type Alertmanager struct {
	URLs     []string
	External string        // where people reach its pages; "": at the first of URLs
	Hold     time.Duration // an alert resolves so long after its last finding
	Resend   time.Duration // an alert that fires is sent again
	Labels   []string      // NAME=VALUE, put on every alert
	User     string        // basic auth, with Password
	Password Secret
	Token    Secret // bearer token
	CAFile   string
}

// NATSSink is a subject that findings are published to.
type NATSSink struct {
	NATS      // without Stream and Subjects
	Subject   string
	JetStream bool // wait until a stream has stored them
}

// KafkaSink is a topic that findings are written to.
type KafkaSink struct {
	Kafka // without Topics
	Topic string
}

// FileSink is a file that findings are appended to, as JSON lines.
type FileSink struct{ Path string }

func (s *Sink) fields() []field {
	return []field{
		{"name", text{&s.Name}},
		{"send", oneOf{&s.Send, []string{SendAlerts, SendAll}}},
		{"per-pattern", numberIfSet{&s.PerPattern}},
		{"every", period{&s.Every}},
		{"webhook", maybe(&s.Webhook, nil)},
		{"alertmanager", maybe(&s.Alertmanager, NewAlertmanager)},
		{"nats", maybe(&s.NATS, nil)},
		{"kafka", maybe(&s.Kafka, nil)},
		{"file", maybe(&s.File, nil)},
	}
}

// NewAlertmanager has the defaults.
func NewAlertmanager() Alertmanager { return Alertmanager{Hold: DefaultHold, Resend: DefaultResend} }

func (w *Webhook) fields() []field {
	return slices.Concat([]field{{"url", address{&w.URL}}}, w.URLFrom.keys("url"), w.Secret.keys("secret"),
		[]field{{"ca-file", text{&w.CAFile}}})
}

func (a *Alertmanager) fields() []field {
	return slices.Concat([]field{
		{"urls", listing{to: &a.URLs, shown: MaskURL}},
		{"external-url", address{&a.External}},
		{"hold", period{&a.Hold}},
		{"resend", period{&a.Resend}},
		{"labels", listing{to: &a.Labels}},
		{"user", text{&a.User}},
	}, a.Password.keys("password"), a.Token.keys("token"), []field{{"ca-file", text{&a.CAFile}}})
}

func (n *NATSSink) fields() []field {
	return slices.Concat([]field{
		{"urls", listing{to: &n.URLs, shown: MaskURL}},
		{"subject", text{&n.Subject}},
		{"jetstream", truth{&n.JetStream}},
	}, n.login())
}

func (k *KafkaSink) fields() []field {
	return slices.Concat([]field{
		{"brokers", listing{to: &k.Brokers}},
		{"topic", text{&k.Topic}},
	}, k.login())
}

func (f *FileSink) fields() []field { return []field{{"path", text{&f.Path}}} }

// kinds are the names of those that are set.
func (s *Sink) kinds() []string {
	var kinds []string
	for _, f := range s.fields() {
		if o, ok := f.to.(option); ok && o.get() != nil {
			kinds = append(kinds, f.key)
		}
	}
	return kinds
}

// optionKeys are the keys of the parts that may be left out.
func optionKeys(fields []field) []string {
	var keys []string
	for _, f := range fields {
		if _, ok := f.to.(option); ok {
			keys = append(keys, f.key)
		}
	}
	return keys
}

// enumerated is a list in words: a, b and c.
func enumerated(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// Label is the name of the sink, or the name of its kind where it was given none.
func (s *Sink) Label() string {
	if s.Name != "" {
		return s.Name
	}
	return strings.Join(s.kinds(), "-")
}

// Limit is how many findings of one pattern go out in each Every; 0: all. Sinks
// that a person reads have one by default.
func (s *Sink) Limit() int {
	switch {
	case s.Alertmanager != nil:
		return 0
	case s.PerPattern != nil:
		return *s.PerPattern
	case s.Webhook != nil:
		return DefaultPerPattern
	}
	return 0
}

// Validate lists every fault.
func (s *Sink) Validate() error {
	var f faults
	kinds := s.kinds()
	switch {
	case len(kinds) == 0:
		f.add("", "want one of %s", enumerated(optionKeys(s.fields())))
	case len(kinds) > 1:
		f.add("", "give only one of %s; each is a sink of its own", strings.Join(kinds, " and "))
	}
	if n := s.PerPattern; n != nil && *n < 0 {
		f.add("per-pattern", "per-pattern %d: must not be negative", *n)
	}
	if s.Every <= 0 {
		f.add("every", "every %v: must be positive", s.Every)
	}
	if w := s.Webhook; w != nil {
		f.in("webhook", "", w.validate())
	}
	if a := s.Alertmanager; a != nil {
		f.in("alertmanager", "", a.validate())
	}
	if n := s.NATS; n != nil {
		if len(n.URLs) == 0 {
			f.add("nats", "nats: no server is named")
		}
		n.check(&f, "nats")
		if n.Subject == "" || strings.ContainsAny(n.Subject, " \t*>") {
			f.add("nats.subject", "nats: subject %q: want one without wildcards", n.Subject)
		}
	}
	if k := s.Kafka; k != nil {
		if len(k.Brokers) == 0 {
			f.add("kafka", "kafka: no broker is named")
		}
		if k.Topic == "" {
			f.add("kafka", "kafka: no topic is named")
		}
		k.check(&f, "kafka")
	}
	if s.File != nil && s.File.Path == "" {
		f.add("file", "file: no path is named")
	}
	return f.err()
}

func (w *Webhook) validate() error {
	var f faults
	switch {
	case w.URL != "" && w.URLFrom.IsSet():
		f.add("url", "webhook: url: url-file or url-env names it already")
	case w.URL == "" && !w.URLFrom.IsSet():
		f.add("", "webhook: no URL is named")
	case w.URL != "" && !isWebURL(w.URL):
		f.add("url", "webhook: the URL is not http://HOST/... or https://HOST/...")
	}
	w.URLFrom.check(&f, "url")
	w.Secret.check(&f, "secret")
	return f.err()
}

func (a *Alertmanager) validate() error {
	var f faults
	if len(a.URLs) == 0 {
		f.add("", "alertmanager: no URL is named")
	}
	for i, u := range a.URLs {
		if !isWebURL(u) {
			f.add(at("urls", i), "alertmanager: URL %d of %d is not http://HOST/... or https://HOST/...", i+1, len(a.URLs))
		}
	}
	if a.External != "" && !isWebURL(a.External) {
		f.add("external-url", "alertmanager: external-url is not http://HOST/... or https://HOST/...")
	}
	if a.Resend <= 0 {
		f.add("resend", "alertmanager: resend %v: must be positive", a.Resend)
	}
	if a.Hold < a.Resend {
		f.add("hold", "alertmanager: hold %v: must not be shorter than resend, %v", a.Hold, a.Resend)
	}
	for i, l := range a.Labels {
		name, _, ok := strings.Cut(l, "=")
		if !ok || !isLabelName(name) {
			f.add(at("labels", i), "alertmanager: label %q: want NAME=VALUE", l)
		}
	}
	if (a.User == "") != !a.Password.IsSet() {
		f.add("user", "alertmanager: basic auth needs both user and password-file or password-env")
	}
	a.Password.check(&f, "password")
	a.Token.check(&f, "token")
	return f.err()
}

func isWebURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// isLabelName says whether Prometheus takes it: letters, digits and _, no digit first.
func isLabelName(name string) bool {
	for i, c := range name {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
