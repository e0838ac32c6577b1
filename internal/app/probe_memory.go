package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/isowatch/isowatch/internal/isolation"
)

// probesFile is the file in the data folder with each probe's database and expected level, by source.
// After a restart, findings come before the databases are met again.
const probesFile = "probes.json"

// heldProbe is a probe that was met, with its configuration at that time.
type heldProbe struct {
	Product   string `json:"product"`
	Isolation string `json:"isolation,omitempty"`
	Expect    string `json:"expect"`
}

// recallProbes holds sources to what they were held to in the life before, unless the
// configuration is another one now.
func (a *App) recallProbes(context.Context) error {
	probes := a.config.Probes()
	if len(probes) == 0 {
		return nil
	}
	text, err := os.ReadFile(a.path(probesFile))
	held := map[string]heldProbe{}
	if err == nil {
		err = json.Unmarshal(text, &held)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		a.log.Warn("the stored levels of probes cannot be read: their databases are asked again", "err", err)
		return nil
	}
	for _, p := range probes {
		h := held[p.SourceName()]
		if _, _, err := isolation.ParseExpected(h.Expect); err != nil || p.Expect != "" || h.Product != p.Product() || h.Isolation != p.Isolation {
			continue
		}
		if next := a.current.Load().Holding(p.SourceName(), h.Expect); next != nil {
			a.current.Store(next)
		}
	}
	return nil
}

// rememberProbes keeps what recallProbes reads.
func (a *App) rememberProbes() error {
	held := map[string]heldProbe{}
	for _, p := range a.config.Probes() {
		if p.Expect == "" {
			name := p.SourceName()
			held[name] = heldProbe{p.Product(), p.Isolation, a.watchOf(name).Expected()}
		}
	}
	text, err := json.Marshal(held)
	if err != nil {
		return fmt.Errorf("probes: %w", err)
	}
	next := a.path(probesFile + ".next")
	if err := os.WriteFile(next, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(next, a.path(probesFile))
}
