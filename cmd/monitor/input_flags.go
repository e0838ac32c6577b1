package main

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/isowatch/isowatch/internal/config"
)

// passwordVariable holds a Kafka password; there is no such flag, since other
// users can see a process's arguments.
const passwordVariable = "ISOWATCH_KAFKA_PASSWORD"

// inputFlags name the inputs.
type inputFlags struct {
	nats  config.NATS
	kafka config.Kafka
	tail  []string
	stdin bool
}

func (in *inputFlags) register(f *pflag.FlagSet, s *config.Service) {
	in.brokers(f)
	f.StringArrayVar(&in.tail, "tail", nil, "files to follow, such as 'log/*.jsonl'; may be repeated")
	f.BoolVar(&in.stdin, "stdin", false, "read standard input to its end")
	f.IntVar(&s.Embedded.Port, "nats-port", s.Embedded.Port, "port of the NATS server inside the process; 0: any")
	f.DurationVar(&s.Embedded.MaxAge, "nats-max-age", s.Embedded.MaxAge, "how long the NATS server inside the process keeps records; 0: forever")
}

// brokers are the flags of the brokers' inputs.
func (in *inputFlags) brokers(f *pflag.FlagSet) {
	n, k := &in.nats, &in.kafka
	f.StringSliceVar(&n.URLs, "nats", nil, "URLs of a NATS system")
	f.StringVar(&n.Stream, "stream", "", "JetStream stream to read")
	f.StringSliceVar(&n.Subjects, "subjects", nil, "subjects to read of the stream (default all)")
	f.StringVar(&n.CredsFile, "nats-creds-file", "", "NATS credentials file")
	f.StringVar(&n.NKeyFile, "nats-nkey-file", "", "NATS nkey seed file")
	f.StringVar(&n.TokenFile, "nats-token-file", "", "file with a NATS token")
	f.StringVar(&n.User, "nats-user", "", "NATS user")
	f.StringVar(&n.PasswordFile, "nats-password-file", "", "file with the NATS user's password")
	f.StringVar(&n.CAFile, "nats-ca-file", "", "PEM file of the authorities that sign the NATS servers' certificates")
	f.StringVar(&n.CertFile, "nats-cert-file", "", "PEM file of the client certificate for NATS")
	f.StringVar(&n.KeyFile, "nats-key-file", "", "PEM file of the key of the client certificate")

	f.StringSliceVar(&k.Brokers, "kafka", nil, "Kafka brokers, HOST:PORT")
	f.StringSliceVar(&k.Topics, "topic", nil, "Kafka topics to read")
	f.BoolVar(&k.TLS, "kafka-tls", false, "use TLS with the brokers; the TLS files imply it")
	f.StringVar(&k.CAFile, "kafka-ca-file", "", "PEM file of the authorities that sign the brokers' certificates")
	f.StringVar(&k.CertFile, "kafka-cert-file", "", "PEM file of the client certificate for Kafka")
	f.StringVar(&k.KeyFile, "kafka-key-file", "", "PEM file of the key of the client certificate")
	f.Var(choiceValue{&k.Mechanism, config.Mechanisms()}, "kafka-sasl", "SASL mechanism")
	f.StringVar(&k.User, "kafka-user", "", "SASL user")
	f.StringVar(&k.PasswordFile, "kafka-password-file", "", "file with the SASL password; or the variable "+passwordVariable)
}

// inputs are those that are named.
func (in *inputFlags) inputs(f *pflag.FlagSet, lookup func(string) (string, bool)) ([]config.Input, error) {
	var all []config.Input
	nats, kafka, err := in.named(f, lookup)
	if nats != nil {
		all = append(all, config.Input{NATS: nats})
	}
	if kafka != nil {
		all = append(all, config.Input{Kafka: kafka})
	}
	if len(in.tail) > 0 {
		all = append(all, config.Input{Tail: in.tail})
	}
	if in.stdin {
		all = append(all, config.Input{Stdin: true})
	}
	return all, err
}

// named are the brokers that are named; nil: none is.
func (in *inputFlags) named(f *pflag.FlagSet, lookup func(string) (string, bool)) (nats *config.NATS, kafka *config.Kafka, err error) {
	given := func(prefixes ...string) (names []string) {
		f.Visit(func(x *pflag.Flag) {
			for _, p := range prefixes {
				if x.Name == p || strings.HasPrefix(x.Name, p+"-") {
					names = append(names, "--"+x.Name)
				}
			}
		})
		return slices.DeleteFunc(names, func(n string) bool { return n == "--nats-port" || n == "--nats-max-age" })
	}
	switch names := given("nats", "stream", "subjects"); {
	case len(in.nats.URLs) > 0 && in.nats.Stream == "":
		return nil, nil, usagef("--nats needs --stream")
	case len(in.nats.URLs) > 0:
		nats = &in.nats
	case len(names) > 0:
		return nil, nil, usagef("%s: needs --nats", strings.Join(names, ", "))
	}
	switch names := given("kafka", "topic"); {
	case len(in.kafka.Brokers) > 0 && len(in.kafka.Topics) == 0:
		return nil, nil, usagef("--kafka needs --topic")
	case len(in.kafka.Brokers) > 0:
		if _, ok := lookup(passwordVariable); ok && in.kafka.PasswordFile == "" {
			in.kafka.PasswordEnv = passwordVariable
		}
		kafka = &in.kafka
	case len(names) > 0:
		return nil, nil, usagef("%s: needs --kafka", strings.Join(names, ", "))
	}
	return nats, kafka, nil
}
