package app

import (
	"net/http"
	"testing"

	"github.com/isowatch/isowatch/internal/group"
	"github.com/isowatch/isowatch/internal/group/drive"
)

// TestOddMemberShowsGroup: a member that takes no unit, since others watch with other settings, shows how the group stands.
func TestOddMemberShowsGroup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, odd := lonelyGroup(t, "a", dir), lonelyGroup(t, "odd", dir)
	a.frame, odd.frame = &App{}, &App{}
	if _, err := odd.view(t.Context()); err == nil {
		t.Error("it shows the group before it has looked")
	}
	a.member = drive.Start(drive.Options{ID: "a", Lease: a.config.Group.Lease, Units: a.units, Store: a.store, Heed: func(group.Event) {}})
	t.Cleanup(func() { a.member.Stop() })
	eventually(t, "the unit is a's", func() bool { all := a.member.Units(); return len(all) == 1 && all[0].Mine })
	a.tellAbout(t.Context())
	odd.differ.Store("lateness")
	odd.odd.Store(true)
	odd.tellAbout(t.Context())
	v, err := odd.view(t.Context())
	if err != nil || len(v.Units) != 1 || v.Units[0].Owner != "a" || v.Units[0].State != UnitOwned || v.Units[0].Term != 1 {
		t.Errorf("it shows %+v (%v)", v, err)
	}
	if len(v.OtherSettings) != 1 || v.OtherSettings[0].Member != "odd" || v.OtherSettings[0].Differs != "lateness" {
		t.Errorf("of itself it shows %+v", v.OtherSettings)
	}
	if units, err := odd.unitsOf(t.Context(), ""); err != nil || len(units) != 1 {
		t.Errorf("units are %+v (%v)", units, err)
	}
	request, err := http.NewRequest(http.MethodGet, "/api/v1/findings", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, notAsked, err := odd.list(request, 10); err != nil || len(notAsked) != 1 || notAsked[0] != "a" { // a has no pages here
		t.Errorf("findings: %v could not be asked (%v)", notAsked, err)
	}
}
