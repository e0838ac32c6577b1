package whole

import (
	"fmt"
	"strings"
	"testing"
)

const (
	twiceOne = `{"txn":"A","session":"a","seq":1,"status":"committed","ops":[{"op":"w","key":"acct/1","value":7}]}`
	twiceTwo = `{"txn":"B","session":"b","seq":1,"status":"committed","ops":[{"op":"w","key":"acct/1","value":7}]}`
	twiceSee = `{"txn":"C","session":"c","seq":1,"status":"committed","ops":[{"op":"r","key":"acct/1","value":7}]}`
)

// A value that two transactions wrote is told with an example, also where all levels hold, and in whole and bounded checks.
func TestRepeatedValuesAreTold(t *testing.T) {
	const want = "Values of keys acct/# repeat (two transactions wrote one value of a key), so that they do not say which transaction wrote them: " +
		"A and B wrote 7 to acct/1. Record a version with each operation (PostgreSQL: xmin)."
	for _, bounded := range []bool{false, true} {
		w := whole()
		w.Bounded = bounded
		r := checkText(t, w, twiceOne+"\n"+twiceTwo+"\n"+twiceSee+"\n")
		if len(r.Notes) != 1 || r.Notes[0] != want || len(r.Repeats) != 1 || r.Repeats[0].Count != 1 {
			t.Errorf("bounded %v: notes %q, repeats %+v", bounded, r.Notes, r.Repeats)
		}
		if text := string(AppendVerdicts(nil, r, false)); !strings.Contains(text, "  note: "+want) {
			t.Errorf("bounded %v, the text is %s", bounded, text)
		}
	}
	more := strings.NewReplacer(`"txn":"`, `"txn":"2`, "acct/1", "acct/2", `"session":"`, `"session":"2`)
	r := checkText(t, whole(), twiceOne+"\n"+twiceTwo+"\n"+twiceSee+"\n"+more.Replace(twiceOne)+"\n"+more.Replace(twiceTwo)+"\n")
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "A and B wrote 7 to acct/1, and 1 more write repeats a value that was there before.") {
		t.Errorf("notes %q", r.Notes)
	}
	var flags strings.Builder // too many writers of two values
	for i := range 6_000 {
		fmt.Fprintf(&flags, `{"txn":"T%d","status":"committed","ops":[{"op":"r","key":"flag","value":%d},{"op":"w","key":"flag","value":%d}]}`+"\n", i, i%2, (i+1)%2)
	}
	r = checkText(t, whole(), flags.String())
	if why := r.Reasons["serializable"]; !strings.Contains(why, "values of keys flag repeat (T0 and T2 wrote 1 to flag)") {
		t.Errorf("the reason is %q", why)
	}
	w := whole()
	w.HideKey = "secret"
	r = checkText(t, w, twiceOne+"\n"+twiceTwo+"\n")
	if len(r.Notes) != 1 || strings.Contains(r.Notes[0], " 7 ") || strings.Contains(r.Repeats[0].Value, "7 ") || !strings.Contains(r.Notes[0], `wrote "#`) {
		t.Errorf("hidden values: %q, %+v", r.Notes, r.Repeats)
	}
	if r := checkText(t, whole(), twiceOne+"\n"+strings.Replace(twiceTwo, "7", "8", 1)+"\n"); len(r.Notes)+len(r.Repeats) != 0 {
		t.Errorf("of unique values: %q", r.Notes)
	}
	if r := checkText(t, whole(), twiceOne+"\n"+strings.Replace(twiceTwo, "committed", "aborted", 1)+"\n"); len(r.Notes) != 0 {
		t.Errorf("of an aborted write: %q", r.Notes)
	}
}
