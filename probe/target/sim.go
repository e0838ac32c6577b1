package target

import (
	"strings"

	"github.com/isowatch/isowatch/probe/epoch"
	simulated "github.com/isowatch/isowatch/probe/sim"
)

// sim is the product of a simulated database, whose settings are levels.
const sim = "sim"

func openSim(url string, o Options) (*Target, error) {
	if err := epoch.Check(o.Epoch); err != nil {
		return nil, err
	}
	level := strings.TrimPrefix(url, "sim:")
	db, err := simulated.Open(level, o.Epoch+"/")
	if err != nil {
		return nil, err
	}
	if err := noIsolation(o, "the level is a part of the URL"); err != nil {
		return nil, err
	}
	return &Target{Database: db, Product: sim, Setting: level, Isolation: strings.ReplaceAll(level, "-", " "), close: nothing}, nil
}

func nothing() error { return nil }
