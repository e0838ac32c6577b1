package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/isowatch/isowatch/internal/config"
)

// settings are a service's settings on the command line, in the environment and in
// a file.
type settings struct {
	service config.Service
	inputs  inputFlags
	sinks   sinkFlags
	sources []string
	file    string // --config
	output  string // form of the findings on standard output
}

func newSettings() *settings { return &settings{service: config.DefaultService(), output: "text"} }

// register adds the flags, with what is set as their defaults.
func (r *settings) register(f *pflag.FlagSet) {
	s := &r.service
	f.StringVar(&r.file, "config", r.file, "YAML file with these settings and more")
	f.StringVar(&s.Data, "data", s.Data, "folder for everything that is stored; --stdin uses a temporary folder by default")
	f.Var(
		choiceValue{&s.Durability, []string{config.Async, config.Fsync}},
		"durability",
		"what a commit survives; async: a killed process; fsync: a power cut too, but each step waits for the disk",
	)
	f.StringVar(&s.HTTP.Address, "http", s.HTTP.Address, "address of pages, API and metrics; port 0: any; off: none")
	f.StringSliceVar(&r.sources, "source", r.sources, "names of sources; their metrics exist from the start")
	liveFlags(f, &s.Watch)
	r.inputs.register(f, s)
	outputFlag(f, &r.output)
	logFlags(f, &s.Log)
	r.sinks.register(f)
	f.StringVar(&s.Group.Name, "group", s.Group.Name, "name of the group of monitors that this one shares its inputs with (docs/scale.md)")
	f.StringVar(&s.Group.State, "group-state", s.Group.State, "store of the group: nats://HOST/BUCKET, s3://BUCKET/PREFIX or file:///DIR")
	f.DurationVar(&s.Group.Lease, "group-lease", s.Group.Lease, "how long a member that is gone keeps its units, at least 1s")
	f.StringVar(&s.Group.Member, "group-member", s.Group.Member, "name of this member of the group (default the host's name)")
	for _, x := range s.Settings("replica", "min-free", "memory", "http", "self-test", "retention") {
		name := strings.ReplaceAll(x.Path, ".", "-")
		if f.Lookup(name) != nil || x.Path == "http.address" {
			continue
		}
		added := f.VarPF(x, name, "", settingUsage(x.Path))
		if x.Type() == "bool" {
			added.NoOptDefVal = "true"
		}
	}
}

func settingUsage(path string) string {
	switch path {
	case "replica":
		return "name of this monitor among several that watch the same input; it is in metrics and in the log, and in no alert"
	case "min-free":
		return "least free space on the data folder's disk: with less, no input is read; at least 256MiB"
	case "memory":
		return "memory that the process may take, at least 128MiB; auto: 70% of the cgroup's limit, or GOMEMLIMIT; half the machine without both"
	case "self-test":
		return "how often the monitor plants a test anomaly that it must find, from 5s to 2m; 0: never"
	case "http.external-url":
		return "URL of the pages, for links in alerts"
	case "http.trace-url":
		return "URL of a trace, with {trace_id} in it: pages of findings link to it"
	case "http.cert-file":
		return "PEM file of the server's certificate; with it, pages are served over TLS"
	case "http.key-file":
		return "PEM file of the key of the server's certificate"
	case "http.client-ca-file":
		return "PEM file of the authorities that sign clients' certificates; clients must show one"
	case "http.user":
		return "user of basic authentication"
	case "http.password-file":
		return "file with the password of basic authentication"
	case "http.password-env":
		return "environment variable with the password of basic authentication"
	case "http.token-env":
		return "environment variable with the bearer token that clients must show"
	case "retention.findings.age":
		return "longest time that a finding is stored"
	case "retention.findings.bytes":
		return "most bytes of stored findings; the oldest are removed first"
	case "retention.evidence.age":
		return "longest time that the records of a stored finding are kept; 0: as long as the finding"
	case "retention.dead-letters.age":
		return "longest time that a bad record is stored"
	case "retention.dead-letters.bytes":
		return "most bytes of stored bad records; the oldest are removed first"
	case "retention.panes.age":
		return "longest time that the verdict on a stretch of time is stored, in event time"
	case "retention.deltas.age":
		return "longest time between two snapshots"
	case "http.pprof":
		return "serve profiles at /debug/pprof/"
	case "http.token-file":
		return "file with the bearer token that clients must show"
	case "retention.deltas.bytes":
		return "most bytes between two snapshots; a restart replays at most these"
	}
	return path + " of the configuration file (docs/configuration.md)"
}

func outputFlag(f *pflag.FlagSet, to *string) {
	f.VarP(choiceValue{to, []string{"text", "jsonl", "log"}}, "output", "o", "form of findings on standard output; log: write them to the log instead")
}

// The values of --log-level and --log-format.
var (
	logLevels  = []string{"debug", "info", "warn", "error"}
	logFormats = []string{"text", "json"}
)

func logFlags(f *pflag.FlagSet, l *config.Log) {
	f.Var(choiceValue{&l.Level, logLevels}, "log-level", "lowest level that is logged")
	f.Var(choiceValue{&l.Format, logFormats}, "log-format", "form of the log on standard error")
}

// effective joins f, which r registered, with the file that it may name. A
// wrong file is told with all its faults; of it the service has what could be read.
func (r *settings) effective(f *pflag.FlagSet, lookup func(string) (string, bool)) (config.Service, error) {
	all := r
	if r.file != "" {
		var err error
		if all, err = r.overFile(f); err != nil {
			return all.service, err
		}
	}
	s := all.service
	inputs, err := all.inputs.inputs(f, lookup)
	if err != nil {
		return s, err
	}
	if len(inputs) > 0 && !s.UsesEmbedded() {
		return s, usagef("%s names inputs: give no other one on the command line or in the environment", r.file)
	}
	s.Inputs = append(s.Inputs, inputs...)
	for _, name := range all.sources {
		if s.WatchOf(name) == &s.Watch {
			s.Sources = append(s.Sources, config.Source{Name: name, Watch: s.Watch})
		}
	}
	sinks, err := all.sinks.named()
	if err != nil {
		return s, err
	}
	s.Sinks = append(s.Sinks, sinks...)
	if err := s.Validate(); err != nil {
		return s, usageError{err}
	}
	return s, nil
}

// overFile reads the file, and sets over it what f was given.
func (r *settings) overFile(f *pflag.FlagSet) (*settings, error) {
	text, err := readConfig(r.file)
	if err != nil {
		return r, err
	}
	over := func(to *pflag.FlagSet) func(*pflag.Flag) {
		return func(given *pflag.Flag) {
			if x := to.Lookup(given.Name); x != nil {
				err = errors.Join(err, setFrom(x, given))
			}
		}
	}
	parsed, faults := config.Parse(r.file, text, func(w *config.Watch) {
		own := pflag.NewFlagSet("", pflag.ContinueOnError)
		liveFlags(own, w)
		f.Visit(over(own))
	})
	if faults != nil {
		return &settings{service: parsed}, usageError{faults}
	}
	all := &settings{service: parsed, file: r.file, output: r.output}
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	all.register(own)
	f.Visit(over(own))
	if err != nil {
		return r, usageError{err} // they were accepted once
	}
	return all, nil
}

// setFrom sets x to what another flag of its kind was given.
func setFrom(x, given *pflag.Flag) error {
	if list, ok := given.Value.(pflag.SliceValue); ok {
		if to, ok := x.Value.(pflag.SliceValue); ok {
			return to.Replace(list.GetSlice())
		}
	}
	if said, ok := given.Value.(interface{ given() []string }); ok {
		var err error
		for _, text := range said.given() {
			err = errors.Join(err, x.Value.Set(text))
		}
		return err
	}
	return x.Value.Set(given.Value.String())
}

func readConfig(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err == nil && info.Size() > config.MaxFile {
		return nil, usagef("%s: longer than %d bytes", file, config.MaxFile)
	}
	text, err := os.ReadFile(file)
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", file, err)}
	}
	return text, nil
}

// sinkFlags name the sinks that need little else.
type sinkFlags struct {
	webhook, secretFile string
	alertmanagers       []string
}

func (k *sinkFlags) register(f *pflag.FlagSet) {
	f.StringVar(&k.webhook, "webhook", "", "URL that alerts are posted to")
	f.StringVar(&k.secretFile, "webhook-secret-file", "", "file with the secret that signs the posts")
	f.StringSliceVar(&k.alertmanagers, "alertmanager", nil, "URLs of one Alertmanager, or of all that form a cluster")
}

func (k *sinkFlags) named() ([]config.Sink, error) {
	var all []config.Sink
	switch {
	case k.webhook != "":
		s := config.NewSink()
		s.Webhook = &config.Webhook{URL: k.webhook, Secret: config.Secret{File: k.secretFile}}
		all = append(all, s)
	case k.secretFile != "":
		return nil, usagef("--webhook-secret-file needs --webhook")
	}
	if len(k.alertmanagers) > 0 {
		s, am := config.NewSink(), config.NewAlertmanager()
		am.URLs = k.alertmanagers
		s.Alertmanager = &am
		all = append(all, s)
	}
	return all, nil
}
