package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/whole"
)

// ErrStaysOpen: the service does not take the answer.
var ErrStaysOpen = engine.ErrUnresolved

// resolveWait bounds what it takes to commit an answer.
const resolveWait = 30 * time.Second

// maxResolution bounds the answer of a replay, bytes.
const maxResolution = 4 << 20

// CloseFinding tells the service that runs in r.Data how the replay of r closed a
// horizon finding.
func CloseFinding(ctx context.Context, r *config.Replay, closed *finding.Finding) error {
	answer := engine.Resolution{Finding: *closed, Expect: r.Watch.Expect.String(), Unnamed: r.Unnamed}
	for _, x := range []struct {
		bound config.Bound
		ns    **int64
	}{{r.From, &answer.From}, {r.To, &answer.To}} {
		switch x.bound.Kind {
		case config.Unbounded:
		case config.AtTime:
			*x.ns = &x.bound.Time
		default:
			return fmt.Errorf("%w: the range is given by positions, but the finding's range is in event times", ErrStaysOpen)
		}
	}
	text, err := json.Marshal(&answer)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, resolveWait)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://isowatch/resolutions", bytes.NewReader(text))
	if err != nil {
		return err
	}
	transport := socketTransport(r.Data)
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return errNoService
	case err != nil:
		return err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNoContent {
		return nil
	}
	text, _ = io.ReadAll(io.LimitReader(response.Body, 1<<10)) // only to say why
	why := string(bytes.TrimSpace(text))
	if response.StatusCode == http.StatusConflict {
		return fmt.Errorf("%w: %s", ErrStaysOpen, strings.TrimPrefix(why, ErrStaysOpen.Error()+": "))
	}
	return errors.New(why)
}

// socketTransport speaks to the service of a data folder.
func socketTransport(dir string) *http.Transport {
	return &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		short, release, err := shortPath(filepath.Join(dir, socketName))
		if err != nil {
			return nil, err
		}
		defer release()
		return new(net.Dialer).DialContext(ctx, "unix", short)
	}}
}

// takeResolution closes a horizon finding as a replay asks. It answers 204 when that is stored, 404
// for an unknown finding, and 409 when the replay does not answer it.
func (a *App) takeResolution(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Now().Add(lineWait)) // the connection has deadlines: it is a socket
	control.SetWriteDeadline(time.Now().Add(resolveWait + lineWait))
	var answer engine.Resolution
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxResolution)).Decode(&answer); err != nil {
		http.Error(w, "not a resolution: "+err.Error(), http.StatusBadRequest)
		return
	}
	if err := a.answers(&answer); err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), resolveWait)
	defer cancel()
	err := a.engine.Resolve(ctx, answer)
	switch {
	case err == nil:
		a.log.Info("horizon finding closed by a replay", "finding", answer.Finding.ID, "state", answer.Finding.State)
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, engine.ErrNoFinding):
		http.Error(w, err.Error(), http.StatusNotFound)
	case errors.Is(err, engine.ErrUnresolved):
		http.Error(w, err.Error(), http.StatusConflict)
	default:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

// answers says whether the range was checked for what is expected here now.
func (a *App) answers(r *engine.Resolution) error {
	if r.Finding.Refutes == nil {
		r.Finding.Refutes = []string{}
	}
	if r.Finding.AlsoRefutes == nil {
		r.Finding.AlsoRefutes = []string{}
	}
	for _, name := range append(append([]string{}, r.Finding.Refutes...), r.Finding.AlsoRefutes...) {
		if _, err := isolation.ParseLevel(name); err != nil {
			return err
		}
	}
	// The replay may have checked another level, and its word on what is refuted is not taken.
	expect := a.watchOf(r.Finding.Source).Expect
	again := replayable{inputs: a.config.AllInputs(), embedded: a.NATSURL()}
	switch {
	case r.Finding.State == finding.ResolvedViolated && !whole.RefutesAny(r.Finding.Refutes, []isolation.Level{expect}):
		return fmt.Errorf("%w: what the range holds is allowed by %s, which is expected", engine.ErrUnresolved, expect)
	case r.Finding.State == finding.ResolvedOK && r.Expect != expect.String():
		return fmt.Errorf("%w: the range was not checked for %s, which is expected", engine.ErrUnresolved, expect)
	case r.Finding.State == finding.ResolvedOK && !again.together(r.Finding.Source):
		return fmt.Errorf("%w: its source has several inputs, and one replay does not read them together", engine.ErrUnresolved)
	}
	return nil
}
