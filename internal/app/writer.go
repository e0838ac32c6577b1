package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// writerFile, beside the store's own files, names the program that opened it last. It is copied and
// moved with the store. A program that cannot read the store's layout can read this: its form never
// changes.
const writerFile = "WRITTEN_BY"

type writer struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
}

// noteWriter writes down which program goes on with the store.
func noteWriter(dir string) error {
	b := BuildInfo()
	text, err := json.Marshal(writer{b[0], b[1]})
	if err != nil {
		return err
	}
	file := filepath.Join(dir, writerFile)
	if before, err := os.ReadFile(file); err == nil && string(before) == string(text)+"\n" {
		return nil
	}
	next := file + ".next"
	err = os.WriteFile(next, append(text, '\n'), 0o600)
	if err == nil {
		err = os.Rename(next, file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return nil
}

func readWriter(dir string) (w writer, ok bool) {
	text, err := os.ReadFile(filepath.Join(dir, writerFile))
	return w, err == nil && json.Unmarshal(text, &w) == nil && w.Version != ""
}

// writtenBy says which program wrote the store. It is for a program that cannot read the store.
func writtenBy(dir string) string {
	b := BuildInfo()
	w, ok := readWriter(dir)
	switch {
	case !ok:
		return fmt.Sprintf("Another build than this one (%s, revision %s) wrote %s.", b[0], b[1], dir)
	case !w.other():
		return fmt.Sprintf("Another build wrote %s, which has the same version as this one: %s (revision %s).", dir, b[0], b[1])
	}
	return fmt.Sprintf("monitor %.80s (revision %.80s) wrote %s: a later or another build than this one (%s, revision %s).", w.Version, w.Revision, dir, b[0], b[1])
}

// other says whether another program than this one wrote the store.
func (w *writer) other() bool {
	b := BuildInfo()
	return w.Version != b[0] || w.Revision != b[1]
}

// writtenByOther says whether another program than this one is known to have opened the store last.
func writtenByOther(dir string) bool {
	w, ok := readWriter(dir)
	return ok && w.other()
}

// throughReleases says how a store goes on that is older than what the release before wrote.
func throughReleases(dir string) string {
	from := "the version that wrote it"
	if w, ok := readWriter(dir); ok {
		from = fmt.Sprintf("monitor %.80s (revision %.80s), which wrote it", w.Version, w.Revision)
	}
	return fmt.Sprintf(
		"Releases between them were skipped. Start the next release behind %s, over %s. Wait until it is ready, stop it, and go on with the release behind that, up to %s. "+
			"Only releases whose notes name a new layout are needed. Or name another folder with --data.",
		from,
		dir,
		BuildInfo()[0],
	)
}
