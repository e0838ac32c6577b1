package check

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/isowatch/isowatch/event"
)

// told is r with the flags of the fields that are set: one who gives a Seq need not say that
// there is one. If a field is 0, only its flag says that it was given.
func told(r event.Record) event.Record {
	for _, x := range []struct {
		set  bool
		flag event.TxnFlags
	}{
		{r.Seq != 0, event.HasSeq},
		{r.Start != 0 || r.End != 0, event.HasTimes},
		{r.StartTS != 0, event.HasStartTS},
		{r.CommitTS != 0, event.HasCommitTS},
	} {
		if x.set {
			r.Flags |= x.flag
		}
	}
	if slices.ContainsFunc(r.Ops, func(o event.RecordOp) bool { return o.From != "" || o.To != "" }) {
		r.Ops = slices.Clone(r.Ops)
		for i := range r.Ops {
			o := &r.Ops[i]
			o.HasFrom, o.HasTo = o.HasFrom || o.From != "", o.HasTo || o.To != ""
		}
	}
	return r
}

// values says which value of r is not a JSON text.
func values(r *event.Record) error {
	for i := range r.Ops {
		o := &r.Ops[i]
		for _, text := range []string{o.Value, o.Expected, o.Seen, o.Version, o.PrevVersion} {
			if text != "" && !json.Valid([]byte(text)) {
				return fmt.Errorf("ops[%d]: %.100s is not JSON: put a text in quotes, as json.Marshal does", i, text)
			}
		}
		for _, row := range o.Rows {
			for _, text := range []string{row.Value, row.Version} {
				if text != "" && !json.Valid([]byte(text)) {
					return fmt.Errorf("ops[%d]: %.100s of row %s is not JSON: put a text in quotes, as json.Marshal does", i, text, row.Key)
				}
			}
		}
	}
	return nil
}
