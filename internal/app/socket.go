package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/isowatch/isowatch/internal/engine"
)

// maxSocketPath is the length that the shortest sun_path of our systems holds, without its closing
// zero byte: 104 bytes on macOS, 108 on Linux.
const maxSocketPath = 103

// lineWait is how long a reader of the socket may take for what one write holds.
const lineWait = 30 * time.Second

// serveSocket answers requests for stored records, such as GET /findings, with one JSON object a line.
// The socket is in the data folder, and only its owner can open it. A connection that breaks off
// before the end of the answer has an incomplete one.
func (a *App) serveSocket(context.Context) error {
	l, err := listenUnix(a.config.Data)
	if err != nil {
		return fmt.Errorf("socket in %s: %w", a.config.Data, err)
	}
	mux := http.NewServeMux()
	for _, kind := range []Kind{Findings, Evidence, DeadLetters, Panes} {
		mux.HandleFunc("GET /"+string(kind), func(w http.ResponseWriter, r *http.Request) { a.writeStored(w, kind) })
	}
	mux.HandleFunc("POST /resolutions", a.takeResolution)
	path := a.path(socketName)
	a.cleanups.push("socket file", func(context.Context) error {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	a.serve("socket", &http.Server{Handler: a.reads.around(mux), ReadHeaderTimeout: 5 * time.Second}, l)
	return nil
}

func (a *App) writeStored(w http.ResponseWriter, kind Kind) {
	control := http.NewResponseController(w)
	out := bufio.NewWriterSize(writerFunc(func(b []byte) (int, error) {
		control.SetWriteDeadline(time.Now().Add(lineWait)) // the connection has deadlines: it is a socket
		return w.Write(b)
	}), 64<<10)
	err := eachStored(engine.Reader{Store: a.store}, kind, func(record []byte) error {
		out.Write(record) // an error stays, and shows below
		return out.WriteByte('\n')
	})
	switch err = errors.Join(err, out.Flush()); {
	case errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNRESET):
		a.log.Debug("who read stored records has seen enough", "kind", kind)
	case err != nil:
		a.log.Warn("stored records were not read to their end", "kind", kind, "err", err)
		panic(http.ErrAbortHandler) // breaks the connection off, so that the reader knows
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// listenUnix makes the socket inside a folder that is closed to others and moves it into its place. So
// no other user can open it at any time. It replaces a socket that a killed process left: the store's
// lock shows that no other process uses it.
func listenUnix(dir string) (net.Listener, error) {
	private, err := os.MkdirTemp(dir, ".socket-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(private)
	made := filepath.Join(private, "s")
	short, release, err := shortPath(made)
	if err != nil {
		return nil, err
	}
	defer release()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	if err = os.Chmod(made, 0o600); err == nil {
		err = os.Rename(made, filepath.Join(dir, socketName))
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// shortPath is a name of path that fits an address; release ends its validity.
func shortPath(path string) (short string, release func(), err error) {
	if len(path) <= maxSocketPath {
		return path, func() {}, nil
	}
	if runtime.GOOS != "linux" {
		return "", nil, fmt.Errorf("%s is longer than the %d bytes that a socket's path may have", path, maxSocketPath)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	short = filepath.Join("/proc/self/fd", strconv.Itoa(int(dir.Fd())), filepath.Base(path))
	return short, func() { dir.Close() }, nil
}
