package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/app"
	"github.com/isowatch/isowatch/internal/config"
)

// errUnheard: the anomaly was published, and the service does not tell it.
var errUnheard = errors.New("it does not find the published anomaly")

// brokers are the inputs of a configuration file that others can publish to. grouped says that members of a group read them.
func brokers(file string) (all []config.Input, grouped bool, err error) {
	text, err := readConfig(file)
	if err != nil {
		return nil, false, err
	}
	s, err := config.Parse(file, text, nil)
	if err != nil {
		return nil, false, err
	}
	for _, in := range s.AllInputs() {
		if in.NATS != nil || in.Kafka != nil {
			all = append(all, in.Input)
		}
	}
	return all, s.Group.Name != "", nil
}

// through publishes an anomaly to each of the inputs, as an application would, and waits until the pages of the
// service have the finding. It returns the names of the inputs. Members of a group plant nothing.
func (a *asking) through(ctx context.Context, service string, inputs []config.Input, grouped bool) (names []string, err error) {
	u, err := address(service)
	if err != nil {
		return nil, err
	}
	if _, err := a.lastFound(ctx, u.JoinPath("metrics").String()); !grouped && errors.As(err, &usageError{}) {
		return nil, usagef("%s: %w", printable(service), err) // one without a self-test would raise an alert
	}
	for i, in := range inputs {
		name, id, err := publishPatiently(ctx, in, i)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
		asked := u.JoinPath("api/v1/findings")
		asked.RawQuery = url.Values{"source": {config.SelfTestSource}, "q": {id + "-read"}}.Encode()
		if err := a.listed(ctx, asked.String()); err != nil {
			return nil, fmt.Errorf("%s, %s: %w", printable(service), name, err)
		}
	}
	return names, nil
}

// publishPatiently publishes an anomaly to the i-th input. It tries again each second until ctx is done, since a stream
// may be as new as the service. Each attempt has an id of its own.
func publishPatiently(ctx context.Context, in config.Input, i int) (name, id string, err error) {
	for {
		id = fmt.Sprintf("published-%d-%d", time.Now().UnixNano(), i)
		name, last := publishAnomaly(ctx, in, id)
		switch {
		case last == nil:
			return name, id, nil
		case ctx.Err() == nil || err == nil:
			err = fmt.Errorf("%s: %w", name, last) // an error behind the deadline says less than the one before
		}
		select {
		case <-ctx.Done():
			return name, id, err
		case <-time.After(time.Second):
		}
	}
}

// publishAnomaly writes two records: one transaction read what another, aborted, wrote. They have the source of the
// self-test, for which no alert is sent.
func publishAnomaly(ctx context.Context, in config.Input, id string) (name string, err error) {
	name = "kafka"
	if in.NATS != nil {
		name = "nats:" + in.NATS.Stream
	} else if len(in.Kafka.Topics) > 0 {
		name = "kafka:" + in.Kafka.Topics[0]
	}
	w, err := app.OpenPublisher(ctx, in)
	if err != nil {
		return name, err
	}
	at := time.Now().UnixNano()
	r := event.Record{
		ID: id + "-written", Source: config.SelfTestSource, Status: event.Aborted, Flags: event.HasTimes, Start: at - 3, End: at - 1,
		Ops: []event.RecordOp{{Kind: event.Write, Key: id, Value: "1"}},
	}
	err = w.Write(ctx, id, r.ID, event.AppendJSON(nil, &r))
	if err == nil {
		r.ID, r.Status, r.Start, r.End = id+"-read", event.Committed, at-2, at
		r.Ops[0].Kind = event.Read
		err = w.Write(ctx, id, r.ID, event.AppendJSON(nil, &r))
	}
	return name, errors.Join(err, w.Close(ctx))
}

// listed returns when the list of findings at an address is not empty.
func (a *asking) listed(ctx context.Context, address string) error {
	for {
		n, err := a.count(ctx, address)
		var refused usageError
		switch {
		case errors.As(err, &refused):
			return err
		case n > 0:
			return nil
		}
		select {
		case <-ctx.Done():
			if err == nil {
				err = errUnheard
			}
			return err
		case <-time.After(time.Second):
		}
	}
}

// count is how many findings a list has.
func (a *asking) count(ctx context.Context, address string) (int, error) {
	answer, err := a.get(ctx, address)
	if err != nil {
		return 0, err
	}
	defer answer.Close()
	var list []finding.Finding
	if err := json.NewDecoder(io.LimitReader(answer, 64<<20)).Decode(&list); err != nil {
		return 0, fmt.Errorf("its findings: %w", err)
	}
	return len(list), nil
}

// address reads the address of a service.
func address(service string) (*url.URL, error) {
	u, err := url.Parse(service)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, usagef("%q is not the address of a service: want http://HOST:PORT", printable(service))
	}
	return u, nil
}

// get is the body of an answer. A usageError will not mend itself.
func (a *asking) get(ctx context.Context, address string) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, usageError{err}
	}
	switch {
	case a.tokens != "":
		r.Header.Set("Authorization", "Bearer "+a.tokens)
	case a.user != "":
		r.SetBasicAuth(a.user, a.passText)
	}
	answer, err := a.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("it does not answer: %w", err)
	}
	switch answer.StatusCode {
	case http.StatusOK:
		return answer.Body, nil
	case http.StatusUnauthorized, http.StatusForbidden:
		err = usageError{fmt.Errorf("it refuses the login (%s): give --user and --password-file, or --token-file", answer.Status)}
	default:
		err = fmt.Errorf("it answers %s", strings.TrimSpace(answer.Status))
	}
	answer.Body.Close()
	return nil, err
}
