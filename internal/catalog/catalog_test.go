package catalog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/testrun"
)

// model is the catalog as a list that is looked through.
type model struct {
	all   []Summary // by order
	marks map[string]Marks
	most  int
	floor uint64
}

func (m *model) put(s Summary) {
	if s.Order <= m.floor {
		return
	}
	m.all = slices.DeleteFunc(m.all, func(x Summary) bool { return x.Order == s.Order })
	m.all = append(m.all, s)
	slices.SortFunc(m.all, func(a, b Summary) int { return int(a.Order) - int(b.Order) })
}

func (m *model) trim() {
	for len(m.all) > m.most {
		m.floor = m.all[0].Order
		m.all = m.all[1:]
	}
}

func (m *model) matches(s *Summary, q *Query) bool {
	key := s.Group.Key()
	is := func(asked string, holds bool) bool { return asked == "" || asked == fmt.Sprint(holds) }
	holds := func(m *Mark) bool { return m != nil && (m.Until == 0 || q.Now < m.Until) }
	inGroup := func(text string) bool {
		for _, x := range slices.Concat(s.Group.Names, s.Group.Keys, s.Group.Endpoints) {
			if strings.Contains(strings.ToLower(x), strings.ToLower(text)) {
				return true
			}
		}
		return false
	}
	return (q.Source == "" && s.Group.Source != q.Except || q.Source != "" && s.Group.Source == q.Source) &&
		(q.Anomaly == "" || s.Group.Anomaly == q.Anomaly) && (q.Kind == "" || s.Group.Kind == q.Kind) &&
		(q.State == "" || s.State == q.State) && is(q.Expected, s.Expected) &&
		(q.From == 0 || s.First >= q.From) && (q.To == 0 || s.First < q.To) &&
		(q.Since == 0 || s.EndedLast >= q.Since) && (q.Until == 0 || s.EndedLast < q.Until) &&
		(q.EndedFrom == 0 || s.EndedLast >= q.EndedFrom) && (q.EndedTo == 0 || s.EndedFirst < q.EndedTo) &&
		(q.Refutes == "" || slices.Contains(s.Refutes, q.Refutes)) &&
		is(q.Acknowledged, holds(m.marks[key].Acknowledged)) && is(q.Silenced, holds(m.marks[key].Silenced)) &&
		(q.Group == "" || key == q.Group) && (q.Name == "" || slices.Contains(s.Group.Names, q.Name)) &&
		(q.Endpoint == "" || slices.Contains(s.Group.Endpoints, q.Endpoint)) &&
		(q.Text == "" || s.ID == q.Text || slices.Contains(s.Tokens, q.Text) || inGroup(q.Text))
}

// spanned is q with instants in place of a stretch of time.
func (m *model) spanned(q Query) Query {
	if q.Recent == 0 {
		return q
	}
	end, latest := q.Until, int64(0)
	for i := range m.all {
		if s := &m.all[i]; q.Source == "" && s.Group.Source != q.Except || q.Source != "" && s.Group.Source == q.Source {
			latest = max(latest, s.EndedLast)
		}
	}
	if end == 0 {
		end = q.Now
		if latest > 0 && latest < q.Now-q.Recent {
			end, q.Until = latest+1, latest+1
		}
	}
	q.Since, q.Recent = end-q.Recent, 0
	return q
}

func (m *model) list(q Query, before uint64, most int) (orders []uint64) {
	q = m.spanned(q)
	for i := range slices.Backward(m.all) {
		if s := &m.all[i]; (before == 0 || s.Order < before) && len(orders) < most && m.matches(s, &q) {
			orders = append(orders, s.Order)
		}
	}
	return orders
}

// count has the counts of each part and their sum, by anomaly.
func (m *model) count(q Query, from, to int64, parts int) map[string][]int {
	all := map[string][]int{}
	for i := range m.all {
		s := &m.all[i]
		if s.EndedLast < from || !m.matches(s, &q) {
			continue
		}
		line := fmt.Sprint(s.Group.Anomaly, s.Expected)
		counts := all[line]
		if counts == nil {
			counts = make([]int, parts+1)
			all[line] = counts
		}
		part := 0
		for part < parts-1 && float64(s.EndedLast-from) >= float64(part+1)*float64(to-from)/float64(parts) {
			part++
		}
		counts[part]++
		counts[parts]++
	}
	return all
}

// violations are those that stand, of two sources from an instant each on.
func (m *model) violations(since map[string]int64) (all []string) {
	for i := range m.all {
		s := &m.all[i]
		at, asked := since[s.Group.Source]
		told := s.State == finding.Provisional || s.State == finding.Final
		if asked && s.EndedLast >= at && s.Group.Kind == finding.KindViolation && (s.Certain && told || s.State == finding.ResolvedViolated) {
			all = append(all, fmt.Sprint(s.Group.Source, s.Refutes, s.EndedFirst, s.EndedLast))
		}
	}
	return all
}

// gravity is how bad a finding is.
func gravity(s *Summary) int {
	if s.State == finding.ResolvedViolated {
		return 2
	}
	if s.Group.Kind != finding.KindViolation || s.Expected || s.State == finding.Withdrawn || s.State == finding.ResolvedOK {
		return 0
	}
	if s.Certain && s.State != finding.Waiting {
		return 2
	}
	return 1
}

func (m *model) group(q Query, by string) (g Groups) {
	q = m.spanned(q)
	rows := map[string]*Row{}
	var matching []*Summary
	for i := range m.all {
		s := &m.all[i]
		if !m.matches(s, &q) {
			continue
		}
		matching = append(matching, s)
		key := s.Group.Key()
		r := rows[key]
		if r == nil {
			r = &Row{Group: s.Group, Key: key, Marks: m.marks[key], States: map[finding.State]int{}}
			rows[key] = r
		}
		r.Findings++
		g.Findings++
		r.Stands += s.Count
		r.States[s.State]++
		if s.Expected {
			r.Expected++
		}
		if s.Certain {
			r.Certain++
		}
		r.Gravity = max(r.Gravity, gravity(s))
		if r.First == 0 || s.EndedLast < r.First {
			r.First = s.EndedLast
		}
		r.Last = max(r.Last, s.Last)
		r.Latest = s.Order
		if a := r.Acknowledged; a != nil && s.First > a.At {
			r.Since++
		}
	}
	g.Total = len(rows)
	until := cmp.Or(q.Until, q.Now)
	for _, w := range widths {
		g.Width = w * 1e9
		g.End = (until/g.Width + 1) * g.Width
		reached := 0
		for _, s := range matching {
			if s.EndedLast >= g.End-Bars*g.Width {
				reached++
			}
		}
		if g.Before = len(matching) - reached; 4*reached >= 3*len(matching) {
			break
		}
	}
	if q.Since > 0 && q.Since < until { // the narrowest bars of whole seconds that reach
		for g.Width = 1e9 * max(1, (until-q.Since)/1e9/Bars-1); q.Since+Bars*g.Width < until; {
			g.Width += 1e9
		}
		g.Before = 0
		g.End = q.Since + Bars*g.Width
	}
	for _, s := range matching {
		for bar := range Bars {
			if begin := g.End - int64(Bars-bar)*g.Width; s.EndedLast >= begin && (s.EndedLast < begin+g.Width || bar == Bars-1) {
				rows[s.Group.Key()].Trend[bar]++
			}
		}
	}
	for _, r := range rows {
		g.Rows = append(g.Rows, *r)
	}
	slices.SortFunc(g.Rows, func(a, b Row) int { return compare(&a, &b, by) })
	return g
}

const now = int64(1_800_000_000e9)

func some(r *rand.Rand, order uint64) Summary {
	pick := func(of string, n int) string { return fmt.Sprint(of, r.IntN(n)) }
	s := Summary{
		Order: order, ID: fmt.Sprint("id-", order), State: states[1+r.IntN(len(states)-1)],
		Expected: r.IntN(2) == 0, Certain: r.IntN(2) == 0, Count: 1 + r.Int64N(2)*r.Int64N(5),
	}
	s.First = now - r.Int64N(1+(int64(1e9)<<r.IntN(24)))
	s.EndedFirst = s.First - r.Int64N(1e12)
	s.EndedLast = s.EndedFirst + r.Int64N(1e12)
	s.Last = s.EndedLast + r.Int64N(2)*r.Int64N(1e12)
	s.Refutes = [][]string{nil, {"serializable"}, {"serializable", "read-committed"}}[r.IntN(3)]
	s.Group = groupOf(pick("source", 3), pick("G", 3), []finding.Kind{finding.KindViolation, finding.KindHorizon}[r.IntN(2)],
		map[string]string{"a": pick("Name", 2), "b": pick("name", 2)}, patterns("", []string{pick("key:", 100), ""}), map[string]string{"a": pick("db-", 2)})
	for range r.IntN(4) {
		s.Tokens = append(s.Tokens, pick("txn", 40), pick("key:", 100), "")
	}
	return s
}

func asked(r *rand.Rand, m *model) Query {
	q := Query{Now: now}
	maybe := func(to *string, values ...string) {
		if r.IntN(5) == 0 {
			*to = values[r.IntN(len(values))]
		}
	}
	maybe(&q.Source, "source0", "source1", "nowhere")
	maybe(&q.Except, "source2")
	maybe(&q.Anomaly, "G0", "G1")
	maybe(&q.Expected, "true", "false")
	maybe(&q.Acknowledged, "true", "false")
	maybe(&q.Silenced, "true", "false")
	maybe(&q.Name, "Name0", "name1")
	maybe(&q.Endpoint, "db-0")
	maybe(&q.Text, "txn7", "key:12", "KEY:#", "name", "DB-1", "id-9", "txn", "none")
	maybe((*string)(&q.Kind), "violation", "horizon", "gap")
	maybe((*string)(&q.State), "waiting", "final", "withdrawn", "odd")
	maybe(&q.Refutes, "serializable", "read-committed", "read")
	for _, to := range []*int64{&q.From, &q.To, &q.EndedFrom, &q.EndedTo, &q.Since, &q.Until} {
		if len(m.all) > 0 && r.IntN(5) == 0 {
			*to = m.all[r.IntN(len(m.all))].First
		}
	}
	if r.IntN(4) == 0 {
		q.Recent = 1 + r.Int64N(1e15)
	}
	if len(m.all) > 0 && r.IntN(5) == 0 {
		q.Group = m.all[r.IntN(len(m.all))].Group.Key()
	}
	return q
}

// Every answer is that of a plain filter over all findings, whatever came, changed and went.
func TestAgainstFilter(t *testing.T) {
	for seed := range testrun.Count(150) {
		r := rand.New(rand.NewPCG(uint64(seed), 26))
		m := &model{marks: map[string]Marks{}, most: 1 + r.IntN(150)}
		c := New(m.most, 0)
		next, oldest := uint64(1000), uint64(1000)
		for range 60 {
			switch r.IntN(9) {
			case 0, 1, 2: // new ones
				var batch []Summary
				for range r.IntN(20) {
					next += 1 + r.Uint64N(2)
					batch = append(batch, some(r, next))
				}
				r.Shuffle(len(batch), func(i, j int) { batch[i], batch[j] = batch[j], batch[i] })
				c.Put(batch)
				for _, s := range batch {
					m.put(s)
				}
			case 3: // older ones, as filling brings them
				var batch []Summary
				for range r.IntN(20) {
					oldest -= min(oldest-1, 1+r.Uint64N(2))
					batch = append(batch, some(r, oldest))
				}
				c.Put(batch)
				for i := range slices.Backward(batch) {
					m.put(batch[i])
				}
			case 4, 5: // revisions, and what was left out between others
				s := some(r, oldest+r.Uint64N(next-oldest+1))
				c.Put([]Summary{s, s})
				m.put(s)
			case 6: // what fell
				var ids []string
				for range r.IntN(8) {
					ids = append(ids, fmt.Sprint("id-", oldest+r.Uint64N(next-oldest+1)))
				}
				c.Remove(ids)
				m.all = slices.DeleteFunc(m.all, func(s Summary) bool { return slices.Contains(ids, s.ID) })
			case 7: // retention
				if r.IntN(3) == 0 {
					upTo := oldest + r.Uint64N((next-oldest)/4+1)
					c.Forget(upTo)
					m.all = slices.DeleteFunc(m.all, func(s Summary) bool { return s.Order <= upTo })
					if m.floor <= upTo {
						m.floor = 0
					}
				}
			case 8:
				if len(m.all) > 0 {
					key, marks := m.all[r.IntN(len(m.all))].Group.Key(), Marks{}
					if r.IntN(3) > 0 {
						marks.Acknowledged = &Mark{Who: "me", At: now - r.Int64N(1e14)}
					}
					if r.IntN(3) > 0 {
						marks.Silenced = &Mark{Who: "me", Until: now + r.Int64N(100) - 50}
					}
					c.Mark(key, marks)
					m.marks[key] = marks
				}
				if r.IntN(20) == 0 {
					c.Fit()
				}
			}
			m.trim()
			if c.Len() != len(m.all) || c.Full() != (m.floor > 0) {
				t.Fatalf("seed %d: %d findings, full %v; want %d, %v", seed, c.Len(), c.Full(), len(m.all), m.floor > 0)
			}
			q, by := asked(r, m), []string{ByLast, ByCount, ByFirst, ByWorst}[r.IntN(4)]
			before, most := uint64(0), 1+r.IntN(30)
			if r.IntN(2) == 0 {
				before = oldest + r.Uint64N(next-oldest+1)
			}
			if got, want := c.List(q, before, most), m.list(q, before, most); !slices.Equal(got, want) {
				t.Fatalf("seed %d: %+v before %d: %v, want %v", seed, q, before, got, want)
			}
			want := m.group(q, by)
			skip := r.IntN(3)
			got := c.Group(q, by, skip, most)
			want.Rows = want.Rows[min(skip, len(want.Rows)):]
			want.Rows = want.Rows[:min(most, len(want.Rows))]
			if len(got.Rows) == 0 && len(want.Rows) == 0 {
				got.Rows = want.Rows
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: groups of %+v by %s:\n%+v\nwant\n%+v", seed, q, by, got, want)
			}
			from, parts := now-r.Int64N(1e15), 1+r.IntN(7)
			to := from + 1 + r.Int64N(1e15)
			counted := map[string][]int{}
			for _, x := range c.Count(q, from, to, parts) {
				counted[fmt.Sprint(x.Anomaly, x.Expected)] = append(slices.Clone(x.Counts), x.Total)
			}
			if want := m.count(q, from, to, parts); !reflect.DeepEqual(counted, want) {
				t.Fatalf("seed %d: counts of %+v: %v, want %v", seed, q, counted, want)
			}
			var standing []string
			since := map[string]int64{"source0": from, "source1": to}
			c.Violations(since, func(source string, refutes []string, first, last int64) {
				standing = append(standing, fmt.Sprint(source, refutes, first, last))
			})
			if want := m.violations(since); !slices.Equal(standing, want) {
				t.Fatalf("seed %d: violations since %v: %v, want %v", seed, since, standing, want)
			}
		}
		c.Remove(nil)
		c.Forget(next)
		if c.Len() != 0 || c.texts != 0 || len(c.byKey) != 0 {
			t.Fatalf("seed %d: %d findings, %d groups and %d bytes are left of nothing", seed, c.Len(), len(c.byKey), c.texts)
		}
	}
}

func TestBytesAreBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	c := New(0, 200<<10)
	for order := range uint64(20_000) {
		c.Put([]Summary{some(r, order+1)})
	}
	if c.used() > 200<<10 || c.Bytes() > 400<<10 || c.Len() < 500 || !c.Full() {
		t.Errorf("%d findings in %d bytes, %d with room to grow", c.Len(), c.used(), c.Bytes())
	}
	if got := c.List(Query{}, 0, 1); !slices.Equal(got, []uint64{20_000}) {
		t.Errorf("the newest is %v", got)
	}
}

// What is read of the stored text gives the group of the finding itself, and all that it is found by.
func TestSummary(t *testing.T) {
	f := finding.Finding{
		ID: "1f", Source: "orders", Kind: finding.KindViolation, State: finding.Final, Certain: true, Anomaly: "G2-item", Title: "write skew",
		Txns: []string{"T1", "T2"}, Names: map[string]string{"T1": "checkout", "T2": "refund"}, Endpoints: map[string]string{"T1": "db-1:5432"},
		Edges:   []finding.Edge{{From: "T1", To: "T2", Type: "rw", Key: "cart:17"}, {From: "T2", To: "T1", Type: "rw", Key: "cart:18"}},
		FoundAt: "2026-11-20T19:00:00.5Z", DetectedAt: "2026-11-20T19:00:02Z", Count: 3, Refutes: []string{"serializable"}, AlsoRefutes: []string{"strong"},
		History: []json.RawMessage{
			json.RawMessage(`{"txn":"beside","end":5}`),
			json.RawMessage(`{"txn":"T2","end":"2026-11-20T18:58:00.25Z"}`),
			json.RawMessage(`{"txn":"T1","end":1795200000000000007,"session":"s-9","status":"committed","name":"checkout","trace_id":"abc","ops":[{"op":"r","key":"stock:4","value":[1,{"x":2}]},{"op":"range","result":[{"key":"row:3","value":1}]}]}`),
		},
	}
	text, err := json.Marshal(&f)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Summarize(7, text)
	if err != nil {
		t.Fatal(err)
	}
	g := GroupOf(&f)
	if !reflect.DeepEqual(s.Group, g) || !slices.Equal(g.Keys, []string{"cart:#"}) || s.Count != 3 || s.Last != s.EndedLast || !s.Certain || s.Expected {
		t.Errorf("%+v, of the finding %+v", s, g)
	}
	if s.EndedFirst != 1795200000000000007 || s.EndedLast != 1795201080250000000 || !slices.Equal(s.Refutes, []string{"serializable", "strong"}) {
		t.Errorf("ended from %d to %d, refutes %q", s.EndedFirst, s.EndedLast, s.Refutes)
	}
	if first, last, ok := f.EndedBetween(); first != s.EndedFirst || last != s.EndedLast || !ok {
		t.Errorf("the finding ended from %d to %d", first, last)
	}
	// It is seen last when the last transaction of all that it stands for ended, and not when it became final.
	f.DetectedAt, f.State, f.LastAt = "2026-11-20T23:00:00Z", finding.Final, "2026-11-20T19:30:00Z"
	if text, err = json.Marshal(&f); err != nil {
		t.Fatal(err)
	}
	if s, err = Summarize(7, text); err != nil || s.Last != 1795203000000000000 {
		t.Errorf("seen last at %d, %v", s.Last, err)
	}
	c := New(0, 0)
	c.Put([]Summary{s})
	for _, text := range []string{"1f", "T1", "T2", "checkout", "Refund", "db-1", "cart:17", "cart:#", "s-9", "abc", "stock:4", "row:3"} {
		if len(c.List(Query{Text: text}, 0, 1)) != 1 {
			t.Errorf("not found by %s", text)
		}
	}
	for _, text := range []string{"T3", "cart:19", "stock:", "committed"} {
		if len(c.List(Query{Text: text}, 0, 1)) != 0 {
			t.Errorf("found by %s", text)
		}
	}
	if _, err := Summarize(7, text[1:]); err == nil {
		t.Error("half a finding is read")
	}
}

// Pages put quotes around a key with blanks or commas. It is found with them and without.
func TestKeysWithQuotes(t *testing.T) {
	c := New(0, 0)
	c.Put([]Summary{
		{Order: 1, ID: "1", Tokens: []string{"x, w y", `a "b"`}, Group: Group{Keys: []string{"x, w y"}}},
		{Order: 2, ID: "2", Tokens: []string{`"x"`}, Group: Group{Names: []string{"pay out"}}},
	})
	for text, want := range map[string][]uint64{
		"x, w y": {1}, `"x, w y"`: {1}, `a "b"`: {1}, `"a \"b\""`: {1}, `"x"`: {2, 1}, `"Pay out"`: {2}, `"x, w y`: nil, `"y, w x"`: nil,
	} {
		if got := c.List(Query{Text: text}, 0, 9); !slices.Equal(got, want) {
			t.Errorf("%s finds %v, want %v", text, got, want)
		}
	}
}

// A probe names its keys by its epoch. The next epoch finds the same cause in the same group, with its marks.
func TestEpochs(t *testing.T) {
	of := func(epoch, key string) Group {
		t.Helper()
		f := finding.Finding{Source: "canary", Epoch: epoch, Anomaly: "lost-update", Edges: []finding.Edge{{Key: key}}, About: &finding.About{Key: key}}
		text, err := json.Marshal(&f)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Summarize(1, text)
		if g := GroupOf(&f); err != nil || !reflect.DeepEqual(s.Group, g) {
			t.Errorf("%+v, of the finding %+v, %v", s.Group, g, err)
		}
		older := f // programs before left the epoch in
		older.Epoch = ""
		if former := GroupOf(&older); s.OldKey != former.Key() && (s.OldKey != "" || former.Key() != s.Group.Key()) {
			t.Errorf("%s: its former group is %q, want %s", key, s.OldKey, former.Key())
		}
		return s.Group
	}
	first, second := of("ehomsjfwwrz7e371o", "ehomsjfwwrz7e371o/k017"), of("ehomsono526ahk6rk", "ehomsono526ahk6rk/k003")
	if !slices.Equal(first.Keys, []string{"#/k#"}) || first.Key() != second.Key() {
		t.Errorf("%q and %q in two epochs", first.Keys, second.Keys)
	}
	for _, c := range [][2]string{{"", "/k"}, {"acc", "account/k"}, {"other", "account/k"}} {
		if g := of(c[0], c[1]); !slices.Equal(g.Keys, []string{c[1]}) {
			t.Errorf("%q in the epoch %q: %q", c[1], c[0], g.Keys)
		}
	}
}

// Groups differ where any part does, also where the parts' texts together are the same.
func TestKeysOfGroups(t *testing.T) {
	seen := map[string]Group{}
	for _, g := range []Group{
		{}, {Source: "a"}, {Anomaly: "a"}, {Kind: "a"}, {Names: []string{"a"}}, {Keys: []string{"a"}}, {Endpoints: []string{"a"}},
		{Names: []string{"a", "b"}}, {Names: []string{"ab"}}, {Names: []string{"a"}, Keys: []string{"b"}}, {Keys: []string{"a", "b"}},
	} {
		if other, ok := seen[g.Key()]; ok {
			t.Errorf("%+v and %+v have one key", g, other)
		}
		seen[g.Key()] = g
	}
}
