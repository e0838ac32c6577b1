package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// writerFile, beside the store's own files, names the program that opened it last. It goes where the
// store goes. A program that cannot read the store's layout can read this: its form never changes.
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

// writerOf says which program can read the store.
func writerOf(dir string) string {
	var w writer
	text, err := os.ReadFile(filepath.Join(dir, writerFile))
	if err != nil || json.Unmarshal(text, &w) != nil || w.Version == "" {
		return "the version that wrote " + dir
	}
	return fmt.Sprintf("monitor %.80s (revision %.80s) or a later version, which wrote %s", w.Version, w.Revision, dir)
}
