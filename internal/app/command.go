package app

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/config"
	"github.com/isowatch/isowatch/isolation"
	"github.com/isowatch/isowatch/window"
)

// replayable is where the records of a service's or a bounded replay's sources can be
// read again.
type replayable struct {
	inputs   []config.PlacedInput
	embedded string // URL of the embedded NATS server, "" without one
	data     string // the service's folder; a replay's own findings are stored nowhere
}

// command begins the command that a horizon finding of the source names: the
// inputs that hold its records, and the settings that decide what is found where
// they are not the defaults. Whoever runs it adds the login: findings go to sinks and
// pages, and name no user, password or file of credentials. "" where the input cannot
// be read again.
//
// A replay reads one NATS stream, one Kafka cluster and files: beyond that the first of
// each kind is named. A source with inputs of its own is in none of the others, unless
// their records name it.
func (r *replayable) command(source string, watch *config.Watch) string {
	if slices.ContainsFunc(r.inputs, func(in config.PlacedInput) bool { return in.Stdin }) {
		return ""
	}
	var flags []string
	if r.data != "" {
		flags = []string{"--data", absolute(r.data)}
	}
	if r.embedded != "" {
		flags = append(flags, "--nats", r.embedded, "--stream", config.DefaultStream)
	}
	inputs, own := r.inputsOf(source)
	if own && source != config.DefaultSource {
		flags = append(flags, "--default-source", source)
	}
	var nats, kafka bool
	for _, in := range inputs {
		switch {
		case in.NATS != nil && !nats:
			nats = true
			flags = append(flags, natsFlags(in.NATS)...)
		case in.Kafka != nil && !kafka:
			kafka = true
			flags = append(flags, kafkaFlags(in.Kafka)...)
		}
		for _, glob := range in.Tail {
			flags = append(flags, fileFlag(glob)...)
		}
	}
	return replayCommand(watch, flags)
}

// inputsOf are the inputs that may hold records of the source: its own, or else all.
func (r *replayable) inputsOf(source string) (inputs []config.PlacedInput, own bool) {
	for _, in := range r.inputs {
		if in.Source == source {
			inputs = append(inputs, in)
		}
	}
	if len(inputs) > 0 {
		return inputs, true
	}
	return r.inputs, false
}

// together says whether one replay reads all that may hold records of the source.
func (r *replayable) together(source string) bool {
	nats, kafka := 0, 0
	if r.embedded != "" {
		nats++
	}
	inputs, _ := r.inputsOf(source)
	for _, in := range inputs {
		switch {
		case in.Stdin:
			return false
		case in.NATS != nil:
			nats++
		case in.Kafka != nil:
			kafka++
		}
	}
	return nats <= 1 && kafka <= 1
}

func natsFlags(n *config.NATS) []string {
	var urls []string
	for _, u := range n.URLs {
		urls = append(urls, withoutLogin(u))
	}
	flags := append(listFlag("--nats", urls), "--stream", n.Stream)
	flags = append(flags, listFlag("--subjects", n.Subjects)...)
	if n.CAFile != "" {
		flags = append(flags, "--nats-ca-file", absolute(n.CAFile))
	}
	return flags
}

func kafkaFlags(k *config.Kafka) []string {
	flags := append(listFlag("--kafka", k.Brokers), listFlag("--topic", k.Topics)...)
	if k.TLS {
		flags = append(flags, "--kafka-tls")
	}
	if k.CAFile != "" {
		flags = append(flags, "--kafka-ca-file", absolute(k.CAFile))
	}
	return flags
}

func listFlag(name string, values []string) []string {
	if len(values) == 0 {
		return nil
	}
	return []string{name, strings.Join(values, ",")}
}

// replayCommand names the input with flags, and what of w is not a default.
func replayCommand(w *config.Watch, flags []string) string {
	d := config.DefaultWatch(config.LiveContract())
	words := append([]string{"monitor", "replay"}, flags...)
	levels := slices.Clone(w.Levels)
	if !slices.Contains(levels, w.Expect) {
		levels = append(levels, w.Expect)
	}
	if w.Expected() != d.Expected() {
		words = append(words, "--expect", w.Expected())
	}
	if !sameLevels(levels, d.Levels) {
		words = append(words, "--levels", strings.Join(isolation.LevelNames(levels), ","))
	}
	if w.Lateness != d.Lateness {
		words = append(words, "--lateness", w.Lateness.String())
	}
	if w.MaxTransaction != d.MaxTransaction {
		words = append(words, "--max-transaction", w.MaxTransaction.String())
	}
	if w.Contract != d.Contract {
		usual := strings.Split(d.Contract.String(), ",")
		items := slices.DeleteFunc(strings.Split(w.Contract.String(), ","), func(item string) bool { return slices.Contains(usual, item) })
		words = append(words, "--contract", strings.Join(items, ","))
	}
	words = append(words, listFlag("--patterns", w.Patterns)...)
	words = append(words, listFlag("--sessions", w.Sessions)...)
	for i := range words {
		words[i] = window.ShellQuote(words[i])
	}
	return strings.Join(words, " ")
}

// greatest is the first of the levels that none of the others implies: who asks for
// several expects all of them.
func greatest(levels []isolation.Level) isolation.Level {
	for _, l := range levels {
		if !slices.ContainsFunc(levels, func(x isolation.Level) bool { return x != l && x.Implies(l) }) {
			return l
		}
	}
	return levels[0]
}

func sameLevels(a, b []isolation.Level) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(l isolation.Level) bool { return !slices.Contains(b, l) })
}

// fileFlag names files from anywhere: the command may be run in another folder.
func fileFlag(glob string) []string { return []string{"--file", absolute(glob)} }

func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// withoutLogin is a server's URL without user, password or token. What cannot be
// read as a URL is left out as a whole.
func withoutLogin(server string) string {
	bare := !strings.Contains(server, "://")
	if bare {
		server = "nats://" + server
	}
	u, err := url.Parse(server)
	if err != nil {
		return "URL"
	}
	text := u.Scheme + "://" + u.Host
	if bare {
		text = u.Host
	}
	return text
}
