package trial

import "github.com/isowatch/isowatch/event"

// A register whose version is told holds a hash of that in Lo, and half of the hash of its value
// in Hi. A read that tells no version is compared by that half.

// tells says whether a follower can take what o tells of versions: of a register, and where it
// succeeded.
func (f *Follower) tells(o *event.RecordOp, k kind) bool {
	if o.Version == "" && o.PrevVersion == "" {
		return true
	}
	switch o.Kind {
	case event.Write, event.Insert, event.Delete:
		return true
	case event.CAS:
		return o.Flags&event.Success != 0
	case event.Read:
		return k == register || k == unused
	}
	return k == list || k == theSet // nothing has a version there
}

// put adds a write, and what it says that it replaced.
func (t *Running) put(a Act, o *event.RecordOp) {
	if o.PrevVersion != "" {
		t.Acts = append(t.Acts, Act{How: replaces, Place: a.Place, Value: versionHash(o.PrevVersion)})
	}
	if o.Version != "" {
		a.Value.Lo = versionHash(o.Version).Lo
	}
	t.Acts = append(t.Acts, a)
}

func versionHash(text string) event.Hash { return event.Hash{Lo: event.HashText([]byte(text)).Lo} }

// same says whether the place holds the value.
func (f *Follower) same(r *Run, p int32, value event.Hash) bool {
	held := f.holds(r, p)
	return held == value || f.Places[p].Kind == register && held.Hi == value.Hi
}
