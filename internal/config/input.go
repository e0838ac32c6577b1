package config

import (
	"fmt"
	"slices"
	"strings"
)

// Input is one of NATS, Kafka, Tail, Probe and Stdin.
type Input struct {
	NATS  *NATS
	Kafka *Kafka
	Tail  []string // patterns of files to follow
	Probe *Probe   // its records are made here
	Stdin bool     // alone: the service ends with it
}

// NATS is a stream of a NATS system. Files hold secrets.
type NATS struct {
	URLs                []string
	Stream              string
	Subjects            []string // empty: all
	CredsFile, NKeyFile string
	TokenFile           string
	User, PasswordFile  string
	CAFile              string
	CertFile, KeyFile   string
}

// Kafka is topics of a cluster.
type Kafka struct {
	Brokers, Topics   []string
	TLS               bool
	CAFile            string
	CertFile, KeyFile string
	Mechanism, User   string
	PasswordFile      string
	PasswordEnv       string // name of a variable
	Unit              string // of a group: UnitTopic or UnitPartition; "": UnitTopic
	// Partition is the only one that is read, of the only topic; nil: all are. No setting names it.
	Partition *int
}

// Units of a group, of Kafka.
const (
	UnitTopic     = "topic"
	UnitPartition = "partition"
)

func (i *Input) fields() []field {
	return []field{
		{"nats", maybe(&i.NATS, nil)},
		{"kafka", maybe(&i.Kafka, nil)},
		{"tail", listing{to: &i.Tail}},
		{"probe", maybe(&i.Probe, NewProbe)},
		{"stdin", truth{&i.Stdin}},
	}
}

// allKinds are the kinds of inputs, in words.
func (i *Input) allKinds() string {
	var keys []string
	for _, f := range i.fields() {
		keys = append(keys, f.key)
	}
	return enumerated(keys)
}

func (n *NATS) fields() []field {
	return slices.Concat(
		[]field{
			{"urls", listing{to: &n.URLs, shown: MaskURL}},
			{"stream", text{&n.Stream}},
			{"subjects", listing{to: &n.Subjects}},
		},
		n.login())
}

// login are the keys beside the servers.
func (n *NATS) login() []field {
	return []field{
		{"creds-file", text{&n.CredsFile}},
		{"nkey-file", text{&n.NKeyFile}},
		{"token-file", text{&n.TokenFile}},
		{"user", text{&n.User}},
		{"password-file", text{&n.PasswordFile}},
		{"ca-file", text{&n.CAFile}},
		{"cert-file", text{&n.CertFile}},
		{"key-file", text{&n.KeyFile}},
	}
}

func (k *Kafka) fields() []field {
	return slices.Concat(
		[]field{
			{"brokers", listing{to: &k.Brokers}},
			{"topics", listing{to: &k.Topics}},
			{"unit", text{&k.Unit}},
		},
		k.login())
}

func (k *Kafka) login() []field {
	return []field{
		{"tls", truth{&k.TLS}},
		{"ca-file", text{&k.CAFile}},
		{"cert-file", text{&k.CertFile}},
		{"key-file", text{&k.KeyFile}},
		{"sasl", text{&k.Mechanism}},
		{"user", text{&k.User}},
		{"password-file", text{&k.PasswordFile}},
		{"password-env", text{&k.PasswordEnv}},
	}
}

// Names are the names of the streams or files that the input reads: "nats:STREAM", "kafka:TOPIC", "file:PATTERN",
// "probe:SOURCE", "stdin". Positions are told apart by them.
func (i *Input) Names() []string {
	var names []string
	if i.NATS != nil {
		names = append(names, "nats:"+i.NATS.Stream)
	}
	if i.Kafka != nil {
		for _, t := range i.Kafka.Topics {
			names = append(names, "kafka:"+t)
		}
	}
	for _, p := range i.Tail {
		names = append(names, "file:"+p)
	}
	if i.Probe != nil {
		names = append(names, "probe:"+i.Probe.SourceName())
	}
	if i.Stdin {
		names = append(names, "stdin")
	}
	return names
}

// Validate lists what is wrong with the input itself.
func (i *Input) Validate() error {
	var f faults
	kinds := 0
	if n := i.NATS; n != nil {
		kinds++
		if len(n.URLs) == 0 {
			f.add("nats", "nats: no server is named")
		}
		if n.Stream == "" {
			f.add("nats", "nats: no stream is named")
		}
		f.each("nats", "urls", n.URLs, natsServer)
		f.each("nats", "stream", []string{n.Stream}, streamName)
		f.each("nats", "subjects", n.Subjects, subject)
		for i, a := range n.Subjects {
			for _, b := range n.Subjects[:i] {
				if subject(a) == nil && subject(b) == nil && subjectsOverlap(a, b) {
					f.add("nats.subjects", "subjects: %q and %q match the same records: leave one of the two out", b, a)
				}
			}
		}
		n.check(&f, "nats")
	}
	if k := i.Kafka; k != nil {
		kinds++
		if len(k.Brokers) == 0 {
			f.add("kafka", "kafka: no broker is named")
		}
		if len(k.Topics) == 0 {
			f.add("kafka", "kafka: no topic is named")
		}
		f.each("kafka", "brokers", k.Brokers, kafkaBroker)
		f.each("kafka", "topics", k.Topics, kafkaTopic)
		if !slices.Contains([]string{"", UnitTopic, UnitPartition}, k.Unit) {
			f.add("kafka.unit", "kafka: unit %q: want %s or %s", k.Unit, UnitTopic, UnitPartition)
		}
		k.check(&f, "kafka")
	}
	if len(i.Tail) > 0 {
		kinds++
		f.each("", "tail", i.Tail, tailPattern)
	}
	if i.Probe != nil {
		kinds++
		f.in("probe", "probe", i.Probe.validate())
	}
	if i.Stdin {
		kinds++
	}
	switch {
	case kinds == 0:
		f.add("", "input: want one of %s", i.allKinds())
	case kinds > 1:
		f.add("", "input: give only one of %s; each is an input of its own", i.allKinds())
	}
	return f.err()
}

// Mechanisms are the mechanisms of SASL for a login to Kafka's brokers.
func Mechanisms() []string { return slices.Clone(mechanisms) }

var mechanisms = []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}

func (k *Kafka) check(f *faults, path string) {
	secret := k.PasswordFile != "" || k.PasswordEnv != ""
	switch {
	case k.Mechanism == "" && (k.User != "" || secret):
		f.add(join(path, "user"), "kafka: a user or password is given, but no SASL mechanism")
	case k.Mechanism != "" && !slices.Contains(mechanisms, k.Mechanism):
		f.add(join(path, "sasl"), "kafka: SASL mechanism %q is not one of %s", k.Mechanism, strings.Join(mechanisms, ", "))
	case k.Mechanism != "" && (k.User == "" || !secret):
		f.add(join(path, "sasl"), "kafka: SASL mechanism %s needs a user, and password-file or password-env", k.Mechanism)
	}
	if (k.CertFile == "") != (k.KeyFile == "") {
		f.add(join(path, "cert-file"), "kafka: a client certificate needs both cert-file and key-file")
	}
	if k.PasswordFile != "" && k.PasswordEnv != "" {
		f.add(join(path, "password-env"), "kafka: password-env: password-file names the secret already")
	}
}

func (n *NATS) check(f *faults, path string) {
	ways := 0
	for _, way := range []string{n.CredsFile, n.NKeyFile, n.TokenFile, n.User} {
		if way != "" {
			ways++
		}
	}
	if ways > 1 {
		f.add(path, "nats: give only one of creds-file, nkey-file, token-file and user")
	}
	if n.User == "" && n.PasswordFile != "" {
		f.add(join(path, "password-file"), "nats: a password without a user")
	}
	if (n.CertFile == "") != (n.KeyFile == "") {
		f.add(join(path, "cert-file"), "nats: a client certificate needs both cert-file and key-file")
	}
}

// checkInputs finds what two inputs read. Their positions could not be told apart.
func checkInputs(f *faults, inputs []placedInput) {
	seen := map[string]string{}
	for _, x := range inputs {
		for _, name := range x.Names() {
			first, twice := seen[name]
			switch {
			case twice && x.Probe != nil:
				f.add(x.path, "source %s is probed twice, by %s and %s: give one of them another source", x.Probe.SourceName(), first, x.path)
			case twice:
				f.add(x.path, "%s is read twice, by %s and %s: streams and topics need different names, also in different clusters", name, first, x.path)
			default:
				seen[name] = x.path
			}
		}
	}
	for n, x := range inputs {
		for _, y := range inputs[:n] {
			for _, p := range x.Tail {
				for _, q := range y.Tail {
					if p != q && overlap(p, q) {
						f.add(x.path, "file:%s is read twice, by %s as %s and by %s", p, y.path, q, x.path)
					}
				}
			}
		}
	}
}

// placedInput is an input and where it stands.
type placedInput struct {
	*Input
	Source string
	only   bool // no record is of another source
	path   string
}

// String names what is read.
func (i *Input) String() string { return fmt.Sprint(strings.Join(i.Names(), ",")) }
