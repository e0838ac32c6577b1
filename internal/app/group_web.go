package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/isowatch/isowatch/internal/group"
	"github.com/isowatch/isowatch/internal/web"
)

const (
	askWait = 3 * time.Second // for the answer of another member
	askMost = 64 << 20        // bytes of it
	// hopHeader marks a request of a member: it is not passed on again.
	hopHeader = "Isowatch-Asked-By"
	// memberHeader names the member that answers: at an address such as 127.0.0.1 another member may
	// answer than the one that was asked.
	memberHeader = "Isowatch-Member"
)

// told gives the records in which members tell of themselves, by ID.
func (g *Group) told(ctx context.Context) (map[string]aboutMember, error) {
	all, err := g.store.List(ctx, aboutPrefix)
	if err != nil {
		return nil, err
	}
	found := map[string]aboutMember{}
	for _, v := range all {
		var x aboutMember
		if json.Unmarshal(v.Data, &x) == nil { // else the member writes it again
			found[x.Member] = x
		}
	}
	return found, nil
}

var errNotJoined = errors.New("this member has not joined the group yet: it looks at the group's store")

// standings say how the units stand. A member with other settings than the others reads it from the group's store. That takes until the others
// have renewed their leases.
func (g *Group) standings(ctx context.Context) ([]group.Standing, error) {
	if g.hasJoined() {
		return g.member.Units(), nil
	}
	if !g.odd.Load() {
		return nil, errNotJoined
	}
	v, err := ReadGroup(ctx, g.store, 0)
	if err != nil {
		return nil, err
	}
	var all []group.Standing
	for i := range v.Units {
		u := &v.Units[i]
		all = append(all, group.Standing{Unit: u.Unit, Owner: u.Owner, Term: u.Term, Alive: u.State == UnitOwned})
	}
	return all, nil
}

// view says how the group stands, by what this member sees and what the others tell.
func (g *Group) view(ctx context.Context) (v web.GroupView, err error) {
	units, err := g.standings(ctx)
	if err != nil {
		return v, err
	}
	told, err := g.told(ctx)
	if err != nil {
		return v, err
	}
	v = web.GroupView{Group: g.config.Group.Name, Member: g.id, Units: []web.GroupUnit{}, NotAsked: []string{}}
	owned := map[string]int{g.id: 0}
	for _, x := range units {
		u := web.GroupUnit{Unit: x.Unit, Term: x.Term, State: UnitFree, Pages: web.UnitPages + unitID(x.Unit) + "/"}
		if x.Alive {
			u.Owner, u.State = x.Owner, UnitOwned
			owned[x.Owner]++
			if t, ok := told[x.Owner].Units[x.Unit]; ok && t.Term == x.Term {
				if u.Sources, u.Lag, u.StateAge = &t.Sources, &t.Lag, &t.StateAge; t.Unwatched {
					u.UnwatchedSeconds, u.Sources, u.Lag, u.StateAge = &t.UnwatchedSeconds, nil, nil, nil
				}
			}
		}
		v.Units = append(v.Units, u)
	}
	slices.SortFunc(v.Units, func(a, b web.GroupUnit) int { return cmp.Compare(a.Unit, b.Unit) })
	for _, id := range slices.Sorted(maps.Keys(told)) {
		if x := told[id]; x.Odd {
			v.OtherSettings = append(v.OtherSettings, web.OddMember{Member: id, Differs: x.Differs})
		}
	}
	split, err := splitSources(ctx, g.store)
	if err != nil {
		return v, err
	}
	for _, source := range slices.Sorted(maps.Keys(split)) {
		v.Split = append(v.Split, web.SplitSource{Source: source, Units: split[source]})
	}
	others := slices.Sorted(maps.Keys(owned))
	for _, id := range others {
		v.Members = append(v.Members, web.GroupMember{Member: id, Units: owned[id]})
	}
	var mu sync.Mutex
	g.askEach(ctx, told, others, "/-/healthy", nil, func(member string, _ []byte, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			v.NotAsked = append(v.NotAsked, member)
		}
	})
	slices.Sort(v.NotAsked)
	return v, nil
}

// askEach asks all of these members except this one at once, and waits for all answers.
func (g *Group) askEach(ctx context.Context, told map[string]aboutMember, members []string, path string, from *http.Request, fn func(member string, body []byte, err error)) {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	var all sync.WaitGroup
	for _, id := range members {
		if id != g.id {
			all.Go(func() {
				body, err := g.ask(ctx, id, told[id].Pages, path, from)
				g.noteAsked(ctx, id, err)
				fn(id, body, err)
			})
		}
	}
	all.Wait()
}

var errNoPages = errors.New("it has no pages")

func (g *Group) ask(ctx context.Context, member, address, path string, from *http.Request) ([]byte, error) {
	if address == "" {
		return nil, errNoPages
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set(hopHeader, g.id)
	if from != nil && from.Header.Get("Authorization") != "" && mayLogIn(&g.config.Group, request.URL) {
		request.Header.Set("Authorization", from.Header.Get("Authorization"))
	}
	answer, err := g.asks.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if err := answers(member, answer); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, askMost))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(answer.Status)
	}
	return body, err
}

// list has findings of all units, newest first. It asks another member for the findings of its units.
func (g *Group) list(r *http.Request, limit int) (all []json.RawMessage, notAsked []string, err error) {
	values := r.URL.Query()
	values.Del("own")
	path := "/api/v1/findings?" + values.Encode()
	for _, u := range g.running() {
		u.mu.Lock()
		pages := u.pages
		u.mu.Unlock()
		if pages == nil {
			continue // it starts
		}
		inside, err := http.NewRequestWithContext(r.Context(), http.MethodGet, path, nil)
		if err != nil {
			return nil, nil, err
		}
		inside.Header.Set("Authorization", r.Header.Get("Authorization"))
		inside.TLS = r.TLS
		answer := memoryResponse{header: http.Header{}, status: http.StatusOK}
		pages.ServeHTTP(&answer, inside)
		var some []json.RawMessage
		if answer.status != http.StatusOK || json.Unmarshal(answer.body, &some) != nil {
			return nil, nil, fmt.Errorf("%s: status %d", u.name, answer.status)
		}
		all = append(all, some...)
	}
	if r.URL.Query().Get("own") == "" && r.Header.Get(hopHeader) == "" {
		told, err := g.told(r.Context())
		if err != nil {
			return nil, nil, err
		}
		units, err := g.standings(r.Context())
		if err != nil {
			return nil, nil, err
		}
		owners := map[string]bool{}
		for _, x := range units {
			if x.Alive {
				owners[x.Owner] = true
			}
		}
		var mu sync.Mutex
		g.askEach(r.Context(), told, slices.Sorted(maps.Keys(owners)), path+"&own=true", r, func(member string, body []byte, err error) {
			var some []json.RawMessage
			if err == nil {
				err = json.Unmarshal(body, &some)
			}
			mu.Lock()
			defer mu.Unlock()
			if all = append(all, some...); err != nil {
				notAsked = append(notAsked, member)
			}
		})
		slices.Sort(notAsked)
	}
	slices.SortStableFunc(all, func(a, b json.RawMessage) int { return cmp.Compare(foundOf(b), foundOf(a)) })
	return all[:min(limit, len(all))], notAsked, nil
}

// memoryResponse keeps an answer.
type memoryResponse struct {
	header http.Header
	status int
	body   []byte
}

// Header implements [http.ResponseWriter].
func (m *memoryResponse) Header() http.Header { return m.header }

// WriteHeader implements [http.ResponseWriter].
func (m *memoryResponse) WriteHeader(status int) { m.status = status }

// Write implements [http.ResponseWriter].
func (m *memoryResponse) Write(b []byte) (int, error) {
	m.body = append(m.body, b...)
	return len(b), nil
}

// serveUnit serves the pages of a unit. Another member serves the pages of its own units.
func (g *Group) serveUnit(w http.ResponseWriter, r *http.Request) {
	id, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, web.UnitPages), "/")
	for _, u := range g.running() {
		u.mu.Lock()
		pages := u.pages
		u.mu.Unlock()
		if unitID(u.name) == id && pages != nil {
			if base := g.config.HTTP.Base(); base != "" { // the pages are below it, and it was cut off
				r = r.Clone(r.Context())
				r.URL.Path, r.URL.RawPath = base+r.URL.Path, ""
			}
			pages.ServeHTTP(w, r)
			return
		}
	}
	units, err := g.standings(r.Context())
	if err != nil || r.Header.Get(hopHeader) != "" {
		http.Error(w, "this member does not watch the unit now", http.StatusServiceUnavailable)
		return
	}
	for _, x := range units {
		if unitID(x.Unit) != id {
			continue
		}
		told, err := g.told(r.Context())
		if err == nil && x.Alive && !x.Mine && told[x.Owner].Pages != "" {
			g.pass(w, r, x.Owner, told[x.Owner].Pages)
			return
		}
		http.Error(w, g.notShown(x, told[x.Owner], err), http.StatusServiceUnavailable)
		return
	}
	http.NotFound(w, r)
}

// pass lets another member answer.
func (g *Group) pass(w http.ResponseWriter, r *http.Request, owner, address string) {
	to, err := url.Parse(address)
	if err != nil {
		http.Error(w, "the member "+owner+" could not be asked", http.StatusBadGateway)
		return
	}
	if r.Header.Get("Authorization") != "" && !mayLogIn(&g.config.Group, to) {
		http.Error(w, "the member "+owner+" was not asked: a login does not go to its address "+to.Host, http.StatusBadGateway)
		return
	}
	proxy := httputil.ReverseProxy{
		Transport: g.asks.Transport,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(to)
			p.Out.Header.Set(hopHeader, g.id)
		},
		ModifyResponse: func(answer *http.Response) error {
			if err := answers(owner, answer); err != nil {
				return err
			}
			for _, name := range []string{memberHeader, "Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy"} {
				answer.Header.Del(name) // this member has set them
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			g.noteAsked(r.Context(), owner, err)
			http.Error(w, "the member "+owner+" could not be asked", http.StatusBadGateway)
		},
	}
	proxy.ServeHTTP(w, r)
}
