package target

import (
	"errors"
	"fmt"
	"strings"

	"github.com/isowatch/isowatch/probe/child"
	"github.com/isowatch/isowatch/probe/epoch"
)

func openCommand(url string, o Options) (*Target, error) {
	if err := epoch.Check(o.Epoch); err != nil {
		return nil, err
	}
	command := strings.TrimSpace(strings.TrimPrefix(url, "exec:"))
	if command == "" {
		return nil, errors.New("the URL names no command: want exec:COMMAND")
	}
	if err := noIsolation(o, "the command sets it"); err != nil {
		return nil, err
	}
	db := child.Open(command, child.Options{Prefix: o.Epoch + "/", Timeout: o.Timeout, Log: o.Log})
	return &Target{Database: db, close: nothing}, nil
}

// noIsolation refuses what cannot be set here.
func noIsolation(o Options, why string) error {
	if o.Isolation != "" {
		return fmt.Errorf("the isolation %q cannot be set: %s", o.Isolation, why)
	}
	return nil
}
