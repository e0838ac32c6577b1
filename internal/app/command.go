package app

import (
	"net/url"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/whole"
)

// replayable is where the records of a service's or a bounded replay's sources can be
// read again.
type replayable struct {
	inputs   []config.PlacedInput
	embedded string // URL of the embedded NATS server, "" without one
	data     string // the service's folder; a replay's own findings are stored nowhere
}

// command begins the command that a horizon finding of the source names. It has the inputs that hold
// the records, and the settings that are not the defaults and decide the findings. The person who runs
// it adds the login: findings go to sinks and pages, and name no user, password or file of
// credentials. The command is "" where the input cannot be read again.
//
// A replay reads one NATS stream, one Kafka cluster and files: beyond that the first of each kind is
// named. The other inputs hold no record of a source with inputs of its own, unless their records name
// it.
func (r *replayable) command(source string, watch *config.Watch) string {
	if slices.ContainsFunc(r.inputs, func(in config.PlacedInput) bool { return keptFrom(&in, source) }) {
		return ""
	}
	var flags []string
	if r.data != "" {
		flags = []string{"--data", whole.Absolute(r.data)}
	}
	if r.embedded != "" {
		flags = append(flags, "--nats", r.embedded, "--stream", config.DefaultStream)
	}
	inputs, own := r.inputsOf(source)
	if own && source != config.DefaultSource {
		flags = append(flags, "--default-source", source)
	}
	if own && !slices.ContainsFunc(inputs, func(in config.PlacedInput) bool { return !in.Only }) {
		flags = append(flags, "--own-inputs")
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
			flags = append(flags, whole.FileFlag(glob)...)
		}
	}
	return whole.ReplayCommand(watch, flags)
}

// keptFrom says whether the input may hold records of the source, and cannot be read again.
func keptFrom(in *config.PlacedInput, source string) bool {
	return !ofOther(in, source) && in.NATS == nil && in.Kafka == nil && len(in.Tail) == 0
}

// ofOther says whether the input has only records of another source, as a probe does.
func ofOther(in *config.PlacedInput, source string) bool {
	return (in.Only || in.Probe != nil) && in.Source != source
}

// inputsOf are the inputs that may hold records of the source: its own, or else all that are not another's alone.
func (r *replayable) inputsOf(source string) (inputs []config.PlacedInput, own bool) {
	for _, in := range r.inputs {
		if in.Source == source {
			inputs = append(inputs, in)
		}
	}
	if len(inputs) > 0 {
		return inputs, true
	}
	for _, in := range r.inputs {
		if !ofOther(&in, source) {
			inputs = append(inputs, in)
		}
	}
	return inputs, false
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
		case keptFrom(&in, source):
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
	flags := append(whole.ListFlag("--nats", urls), "--stream", n.Stream)
	flags = append(flags, whole.ListFlag("--subjects", n.Subjects)...)
	if n.CAFile != "" {
		flags = append(flags, "--nats-ca-file", whole.Absolute(n.CAFile))
	}
	return flags
}

func kafkaFlags(k *config.Kafka) []string {
	flags := append(whole.ListFlag("--kafka", k.Brokers), whole.ListFlag("--topic", k.Topics)...)
	if k.TLS {
		flags = append(flags, "--kafka-tls")
	}
	if k.CAFile != "" {
		flags = append(flags, "--kafka-ca-file", whole.Absolute(k.CAFile))
	}
	return flags
}

// withoutLogin is a server's URL without user, password or token. A server that is not a URL is left
// out as a whole.
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
