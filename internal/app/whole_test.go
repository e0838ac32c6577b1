package app

import (
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/whole"
)

func levels(t *testing.T, names string) []isolation.Level {
	t.Helper()
	ls, err := isolation.ParseLevels(names)
	if err != nil {
		t.Fatal(err)
	}
	return ls
}

// checkText is the answer on a history as a file of it would get it.
func checkText(t *testing.T, text string) *Report {
	t.Helper()
	w := whole.Whole{Watch: config.DefaultWatch(config.WholeContract()), Stdin: strings.NewReader(text)}
	r, err := w.CheckFile("-")
	if err != nil {
		t.Fatal(err)
	}
	return r
}
