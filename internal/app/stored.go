package app

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/store"
)

// errNoService: nobody listens in the folder.
var errNoService = errors.New("no service at the socket")

// ReadStored gives every record of a kind that the data folder holds, as JSON. It reads from the
// service that has the folder open, or else from the store itself. An error of fn ends it and is
// returned.
func ReadStored(ctx context.Context, dir string, kind Kind, fn func(record []byte) error) error {
	switch info, err := os.Stat(dir); {
	case err != nil:
		return fmt.Errorf("%w: %w\n'monitor run' makes the data folder. Name another one with --data.", ErrInput, err)
	case !info.IsDir():
		return fmt.Errorf("%w: %s is no folder", ErrInput, dir)
	}
	// A service takes the store's lock before it serves the socket, and gives both up at its end.
	// Between the two, neither way is open for a moment.
	const tries, pause = 20, 250 * time.Millisecond
	var err error
	for range tries {
		if err = askService(ctx, dir, kind, fn); !errors.Is(err, errNoService) {
			return err
		}
		if err = readStore(dir, kind, fn); !errors.Is(err, store.ErrLocked) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return fmt.Errorf("%w: %w: it holds the folder and does not answer at %s", ErrConfig, err, filepath.Join(dir, socketName))
}

func readStore(dir string, kind Kind, fn func([]byte) error) error {
	path := filepath.Join(dir, storeFolder)
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("%w: %s holds no findings: %w", ErrInput, dir, err)
	}
	st, err := store.Open(path, store.Options{ReadOnly: true, Logger: slog.New(slog.DiscardHandler)})
	switch {
	case errors.Is(err, store.ErrEmpty):
		return nil // its service was killed at its first start
	case errors.Is(err, store.ErrLocked):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w%s", ErrStore, err, remedyOf(path, err))
	}
	r := engine.Reader{Store: st}
	if err = r.Check(); err == nil {
		err = eachStored(r, kind, fn)
	}
	if errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrFormat) {
		err = fmt.Errorf("%w: %w%s", ErrStore, err, remedyOf(path, err))
	}
	return errors.Join(err, st.Close())
}

func askService(ctx context.Context, dir string, kind Kind, fn func([]byte) error) error {
	transport := socketTransport(dir)
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://isowatch/"+string(kind), nil)
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(request)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return errNoService
	case err != nil:
		return fmt.Errorf("ask the service: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10)) // only to say why
		return fmt.Errorf("ask the service: it answers %s: %s", response.Status, bytes.TrimSpace(text))
	}
	return eachLine(response.Body, fn)
}

// eachLine calls fn with each line of r, without the line end. A last line without an end is an error.
func eachLine(r io.Reader, fn func([]byte) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the service's answer: %w", err)
		}
		if err := fn(bytes.TrimSuffix(line, []byte{'\n'})); err != nil {
			return err
		}
	}
}
