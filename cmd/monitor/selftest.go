package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// selfTestMetric is when a service found its planted anomaly last; 0 before the first time.
const selfTestMetric = "isowatch_self_test_last_success_timestamp_seconds"

// asking is how a service is asked.
type asking struct {
	patience         time.Duration
	configs          []string // files, one for each service or none
	user             string
	password, token  string // files
	authority        string // file
	client           http.Client
	passText, tokens string // what is in them
}

func selfTestCommand(t *terminal) *cobra.Command {
	a := asking{patience: 5 * time.Minute}
	c := &cobra.Command{
		Use:   "self-test URL...",
		Short: "Wait until running services find an anomaly that is planted",
		Long: "Self-test waits until each of the services plants another anomaly and finds it. URL is the address of its pages. The services need\n" +
			"--self-test. With 'self-test: 1m' this takes a minute at most.\n\n" +
			"With --config, the anomaly takes the way of an application's records. Self-test publishes it to each NATS stream that the file\n" +
			"names, and to the first topic of each Kafka input. Then it looks for the finding on the pages. The records are of the source\n" +
			"isowatch-self-test, so no alert is sent. A broker that cannot be reached is tried again until --patience is over. A service without\n" +
			"such an input is asked as before.\n\n" +
			"Exit codes: 0 all found theirs, 1 one did not within --patience. 130 interrupted. 254 wrong usage, a service without --self-test,\n" +
			"or one that refuses the login.",
		Example: "  monitor self-test http://127.0.0.1:8080\n  monitor self-test --config isowatch.yaml http://127.0.0.1:8080",
		Args:    arguments(1, -1),
		RunE: func(c *cobra.Command, services []string) error {
			if err := a.prepare(); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context(), a.patience)
			defer cancel()
			if len(a.configs) > 0 && len(a.configs) != len(services) {
				return usagef("%d files of --config for %d services: want one for each, in their order", len(a.configs), len(services))
			}
			for i, service := range services {
				said, err := a.look(ctx, i, service)
				var refused usageError
				switch {
				case c.Context().Err() != nil:
					return exitError{exitInterrupted}
				case errors.As(err, &refused):
					return err
				case err != nil:
					t.fault(err.Error())
					return exitError{exitViolated}
				}
				t.say("%s: %s", printable(service), said)
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringArrayVar(&a.configs, "config", nil, "configuration file of a service: publish the anomaly to its brokers. Once for each service, in their order")
	f.DurationVar(&a.patience, "patience", a.patience, "how long to wait for all of them")
	f.StringVar(&a.user, "user", "", "user of the pages")
	f.StringVar(&a.password, "password-file", "", "file with the user's password")
	f.StringVar(&a.token, "token-file", "", "file with the token of the pages")
	f.StringVar(&a.authority, "ca-file", "", "PEM file of the authorities that sign the pages' certificate")
	return c
}

// look returns when a service found an anomaly, and tells which.
func (a *asking) look(ctx context.Context, i int, service string) (said string, err error) {
	if len(a.configs) > 0 {
		inputs, grouped, err := brokers(a.configs[i])
		if err != nil {
			return "", usageError{err}
		}
		if len(inputs) > 0 {
			names, err := a.through(ctx, service, inputs, grouped)
			return "it found the anomaly that was published to " + strings.Join(names, " and to "), err
		}
	}
	return "it found the anomaly that it planted", a.await(ctx, service)
}

// prepare reads the files.
func (a *asking) prepare() error {
	for _, x := range []struct {
		file string
		to   *string
	}{{a.password, &a.passText}, {a.token, &a.tokens}} {
		if x.file == "" {
			continue
		}
		text, err := os.ReadFile(x.file)
		if err != nil {
			return usageError{err}
		}
		*x.to = strings.TrimSpace(string(text))
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if a.authority != "" {
		pem, err := os.ReadFile(a.authority)
		if err != nil {
			return usageError{err}
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return usagef("%s holds no certificate in PEM", printable(a.authority))
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	a.client = http.Client{Transport: transport, Timeout: 10 * time.Second}
	return nil
}

// errNoSelfTest: the service answers, and does not plant anything.
var errNoSelfTest = errors.New(`it has no self-test: start it with "self-test: 1m"`)

// await returns when the service found an anomaly after one that it had found before.
func (a *asking) await(ctx context.Context, service string) error {
	u, err := address(service)
	if err != nil {
		return err
	}
	first := -1.0
	for {
		found, err := a.lastFound(ctx, u.JoinPath("metrics").String())
		var refused usageError
		switch {
		case errors.As(err, &refused):
			return usagef("%s: %w", printable(service), refused.error)
		case err == nil && first < 0:
			first = found
		case err == nil && found > first:
			return nil
		}
		select {
		case <-ctx.Done():
			if err == nil {
				err = errors.New("it did not find its planted anomaly")
			}
			return fmt.Errorf("%s: %w", printable(service), err)
		case <-time.After(time.Second):
		}
	}
}

// lastFound is the metric of the service. A usageError will not mend itself.
func (a *asking) lastFound(ctx context.Context, metrics string) (float64, error) {
	answer, err := a.get(ctx, metrics)
	if err != nil {
		return 0, err
	}
	defer answer.Close()
	text, err := io.ReadAll(io.LimitReader(answer, 64<<20))
	if err != nil {
		return 0, fmt.Errorf("its metrics: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, selfTestMetric+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, usageError{errNoSelfTest}
}
