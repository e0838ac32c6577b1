package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
)

// groupOf is the pages of a member of a group with two units, of which one has the source orders.
func groupOf(fault error) http.Handler {
	o, _, _ := options()
	age, sources, lag := 1.26, 2, int64(3)
	units := []GroupUnit{
		{Unit: "nats:S:a", Owner: "m1", Term: 4, State: "owned", Sources: &sources, Lag: &lag, StateAge: &age, Pages: "/units/aa/"},
		{Unit: "nats:S:b", Owner: "m1", State: "owned", UnwatchedSeconds: &age, Pages: "/units/bb/"},
	}
	o.Base = "/w"
	return ForGroup(GroupOptions{
		Options: o,
		View: func(context.Context) (GroupView, error) {
			return GroupView{
				Group: "shop", Member: "m1", Members: []GroupMember{{"m1", 1}}, Units: units, NotAsked: []string{"m2"},
				OtherSettings: []OddMember{{"m3", "lease: 2s in m3, 6s in m1"}}, Split: []SplitSource{{"stock", []string{"nats:S:a", "nats:S:b"}}},
			}, fault
		},
		List: func(*http.Request, int) ([]json.RawMessage, []string, error) { return nil, nil, fault },
		UnitsOf: func(_ context.Context, source string) ([]GroupUnit, error) {
			if source == "orders" {
				return units[:1], fault
			}
			return units, fault
		},
		Units: http.NotFoundHandler(),
	})
}

// The page of a group says how each unit stands, and what is wrong.
func TestPageOfMember(t *testing.T) {
	_, page, _ := get(groupOf(nil), "/")
	for _, want := range []string{
		"Group shop, as m1 sees it", ">1.3 s<", ">owned<", ">unwatched<", ">3 records<", `href="/w/units/aa/findings"`, `href="/w/findings"`, "could not be asked: m2",
		"The member m3 takes no unit, since its settings differ: lease: 2s in m3, 6s in m1.", "The source stock is in several units: nats:S:a, nats:S:b.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(page, "%!") || t.Failed() {
		t.Errorf("%s", page)
	}
}

// Paths of a monitor's findings lead to the unit that has the source, or name the units.
func TestGroupFindsTheUnit(t *testing.T) {
	h := groupOf(nil)
	for path, want := range map[string]string{
		"/findings?source=orders&anomaly=G2-item":   "/w/units/aa/findings?source=orders&anomaly=G2-item",
		"/w/list?source=orders":                     "/w/units/aa/list?source=orders",
		"/findings/0%2F1?source=orders":             "/w/units/aa/findings/0%2F1?source=orders",
		"/findings?source=orders&next=//evil.test/": "/w/units/aa/findings?source=orders&next=//evil.test/",
	} {
		if status, _, header := get(h, path); status != http.StatusSeeOther || header.Get("Location") != want {
			t.Errorf("%s: %d to %q, want %q", path, status, header.Get("Location"), want)
		}
	}
	for path, want := range map[string]string{"/findings": "findings", "/list?source=stock": "list?source=stock", "/findings/ab12": "findings/ab12"} {
		status, page, _ := get(h, path)
		if status != http.StatusOK || !strings.Contains(page, `href="/w/units/aa/`+want+`"`) || !strings.Contains(page, `href="/w/units/bb/`+want+`"`) {
			t.Errorf("%s: %d %s", path, status, page)
		}
	}
	for _, path := range []string{"/api/v1/status", "/api/v1/groups", "/api/v1/findings/ab12"} {
		if status, text, _ := get(h, path); status != http.StatusNotFound || !strings.Contains(text, "/api/v1/group lists them") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
}

// A member that cannot show the group says why.
func TestGroupSaysWhyNot(t *testing.T) {
	h := groupOf(errors.New("its settings differ: lease"))
	for _, path := range []string{"/", "/api/v1/group", "/findings"} {
		if status, text, _ := get(h, path); status != http.StatusServiceUnavailable || !strings.Contains(text, "the group cannot be shown: its settings differ: lease") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
}
