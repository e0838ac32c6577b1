package app

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/window"
)

// Where totals of counters are not compared, the page says so once, and so does the status.
func TestTotalsOffIsShown(t *testing.T) {
	for what, x := range map[string]struct {
		contract config.Contract
		want     string
	}{
		"the default":   {config.LiveContract(), "Totals of counters are not compared: the capture is partial,"},
		"unknown start": {config.Contract{Complete: true, Existing: true, Observed: true}, "Totals of counters are not compared: a transaction may have seen what came before the first record:"},
		"a deposit":     {config.Contract{Complete: true, Observed: true}, "Totals of 2 counters that are read together are not compared: transaction T0 added 20 to them, all in all."},
	} {
		s := config.DefaultService()
		s.Data, s.HTTP.Address, s.Inputs = filepath.Join(t.TempDir(), "data"), "127.0.0.1:0", []config.Input{{Stdin: true}}
		s.Watch.Contract, s.Watch.MaxTransaction, s.Watch.Lateness = x.contract, time.Second, 0
		if x.contract.Existing {
			s.Watch.MaxTransaction = time.Minute
		}
		in, out := io.Pipe()
		a, err := New(Options{Config: s, Stdin: in})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, ops := range []string{
			`{"op":"inc","key":"a","value":10},{"op":"inc","key":"b","value":10}`,
			`{"op":"r","key":"a","value":10,"kind":"counter"},{"op":"r","key":"b","value":10,"kind":"counter"}`,
			`{"op":"r","key":"other","value":1}`, `{"op":"r","key":"other","value":1}`,
		} {
			fmt.Fprintf(out, `{"txn":"T%d","session":"s","seq":%d,"status":"committed","start":%d,"end":%d,"ops":[%s]}`+"\n", i, i+1, i*2e9, i*2e9+1, ops)
		}
		waitFor(t, "the records", func() bool { s := a.Status().Sources; return len(s) == 1 && s[0].Counters.Committed == 4 })
		if page := get(t, a, "/"); strings.Count(page, x.want) != 1 {
			t.Errorf("%s: the page says %d times %q:\n%s", what, strings.Count(page, x.want), x.want, page)
		}
		var status engine.Status
		if err := json.Unmarshal([]byte(get(t, a, "/api/v1/status")), &status); err != nil {
			t.Fatal(err)
		}
		of := status.Sources[0]
		if told := of.TotalsOff; told == nil || !strings.HasPrefix(told.String(), x.want) {
			t.Errorf("%s: the status says %v, want %q", what, told, x.want)
		}
		if why := of.Verdicts["serializable"].Why; !slices.ContainsFunc(why, func(w window.Why) bool { return strings.Contains(w.Text, x.want) }) {
			t.Errorf("%s: serializable is not decided for %v, want %q", what, why, x.want)
		}
		out.Close()
		if err := a.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
