package catalog

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/isowatch/isowatch/finding"
)

// Marks are notes of people on a group. The zero value has none.
type Marks struct {
	Acknowledged *Mark `json:"acknowledged,omitempty"`
	Silenced     *Mark `json:"silenced,omitempty"`
}

// Mark is a note: its author, reason and time.
type Mark struct {
	Who   string `json:"who"`
	Why   string `json:"why"`
	At    int64  `json:"at"`              // ns since the Unix epoch
	Until int64  `json:"until,omitempty"` // the same; 0: until it is taken back
}

// Newest has of each kind of mark the one that was made last.
func (m Marks) Newest(other Marks) Marks {
	for _, x := range []struct{ to, from **Mark }{{&m.Acknowledged, &other.Acknowledged}, {&m.Silenced, &other.Silenced}} {
		if *x.to == nil || *x.from != nil && (*x.from).At > (*x.to).At {
			*x.to = *x.from
		}
	}
	return m
}

// Holds says whether the mark is in effect at an instant.
func (m *Mark) Holds(now int64) bool { return m != nil && (m.Until == 0 || now < m.Until) }

// Mark sets the marks of a group; the zero value takes them away. They stay without findings.
func (c *Catalog) Mark(key string, m Marks) {
	if m == (Marks{}) {
		delete(c.marks, key)
		return
	}
	c.marks[key] = m
}

// Marked are the marks of a group, and of how many groups there are any.
func (c *Catalog) Marked(key string) (m Marks, all int) { return c.marks[key], len(c.marks) }

// Query says which findings are wanted. Empty fields do not restrict.
type Query struct {
	Source  string
	Except  string // a source that only its own name asks for
	Anomaly string
	Kind    finding.Kind
	State   finding.State
	// Expected, Acknowledged and Silenced are "true" or "false".
	Expected, Acknowledged, Silenced string
	From, To                         int64  // when it was found first, ns, without To; 0: no bound
	EndedFrom, EndedTo               int64  // one that reaches into this stretch of event time, the same
	Since, Until                     int64  // when its last transaction ended, the same
	Recent                           int64  // ns before Until, or else before now or the latest of older findings: see [Catalog.Spanned]
	Refutes                          string // a level
	Endpoint, Name                   string // of one of the transactions
	Group                            string // key
	// Text is an id of a finding, a transaction, a session or a trace, a key of an operation: each
	// as a whole. Or it is part of a name, of a pattern of keys, or of an endpoint, in any case.
	// Quotes around it do not count.
	Text string
	Now  int64 // for silences that end
}

// matcher is a query over a catalog. A group is looked at once.
type matcher struct {
	c      *Catalog
	q      *Query
	group  []uint8 // by slot: answers below
	text   string  // in lower case
	token  [tokenBytes]byte
	typed  [tokenBytes]byte // the same as token, unless the text has quotes around it
	level  []bool           // by list of levels; nil: all pass
	state  uint8
	wanted bool // there is a state that the catalog knows
}

const (
	unasked = iota
	refused
	passes
	found // by the text too
)

func (c *Catalog) matcher(q *Query) matcher {
	m := matcher{c: c, q: q, group: make([]uint8, len(c.slots)), wanted: true}
	plain := unquoted(q.Text)
	m.text, m.token, m.typed = strings.ToLower(plain), c.token(plain), c.token(q.Text)
	if n := slices.Index(states, q.State); q.State != "" {
		m.state, m.wanted = uint8(max(n, 0)), n > 0
	}
	if q.Refutes != "" {
		m.level = make([]bool, len(c.refuted))
		for i, list := range c.refuted {
			m.level[i] = slices.Contains(list, q.Refutes)
		}
	}
	return m
}

// unquoted is the text without the quotes that pages put around a key with blanks, commas or quotes.
func unquoted(text string) string {
	if plain, err := strconv.Unquote(text); err == nil && strings.HasPrefix(text, `"`) {
		return plain
	}
	return text
}

func (m *matcher) matches(e *entry) bool {
	q := m.q
	if !m.wanted || q.State != "" && e.state != m.state || q.Expected != "" && (q.Expected == "true") != (e.flags&flagExpected != 0) {
		return false
	}
	if q.From != 0 && e.first < q.From || q.To != 0 && e.first >= q.To {
		return false
	}
	if q.Since != 0 && e.ended[1] < q.Since || q.Until != 0 && e.ended[1] >= q.Until {
		return false
	}
	if q.EndedFrom != 0 && e.ended[1] < q.EndedFrom || q.EndedTo != 0 && e.ended[0] >= q.EndedTo || m.level != nil && !m.level[e.refutes] {
		return false
	}
	g := &m.group[e.group]
	if *g == unasked {
		*g = m.ask(&m.c.slots[e.group])
	}
	return *g == found || *g == passes && (e.has(m.token) || m.typed != m.token && e.has(m.typed))
}

func (m *matcher) ask(x *slot) uint8 {
	q, g := m.q, &x.group
	marks := m.c.marks[x.key]
	is := func(asked string, holds bool) bool { return asked == "" || (asked == "true") == holds }
	switch {
	case q.Source == "" && q.Except != "" && g.Source == q.Except, q.Source != "" && g.Source != q.Source,
		q.Anomaly != "" && g.Anomaly != q.Anomaly, q.Kind != "" && g.Kind != q.Kind, q.Group != "" && x.key != q.Group,
		q.Name != "" && !slices.Contains(g.Names, short(q.Name)), q.Endpoint != "" && !slices.Contains(g.Endpoints, short(q.Endpoint)),
		!is(q.Acknowledged, marks.Acknowledged.Holds(q.Now)), !is(q.Silenced, marks.Silenced.Holds(q.Now)):
		return refused
	case m.text == "" || slices.ContainsFunc(x.lower, func(s string) bool { return strings.Contains(s, m.text) }):
		return found
	}
	return passes
}

// List gives the orders of findings that match, the newest first, of those before an order (0: all),
// at most so many.
func (c *Catalog) List(q Query, before uint64, most int) (orders []uint64) {
	q = c.Spanned(q)
	m, from := c.matcher(&q), len(c.entries)
	if before > 0 {
		at, _ := c.find(before)
		from = c.head + at
	}
	for i := from - 1; i >= c.head && len(orders) < most; i-- {
		if e := &c.entries[i]; m.matches(e) {
			orders = append(orders, e.order)
		}
	}
	return orders
}

// Spanned is q with instants in place of a stretch of time, Recent. Where all findings are older than that, it ends with
// the latest of them: it is a stretch of the records, which may be old.
func (c *Catalog) Spanned(q Query) Query {
	if q.Recent <= 0 {
		return q
	}
	end := q.Until
	if end == 0 {
		if end = q.Now; !c.anyFrom(&q, q.Now-q.Recent) {
			if latest := c.latest(&q); latest > 0 {
				end, q.Until = latest+1, latest+1
			}
		}
	}
	q.Since, q.Recent = max(end-q.Recent, 1), 0
	return q
}

// anyFrom says whether the transactions of a finding ended at an instant or later.
func (c *Catalog) anyFrom(q *Query, at int64) bool {
	for i := len(c.entries) - 1; i >= c.head; i-- { // the newest are mostly the latest
		if e := &c.entries[i]; e.ended[1] >= at && c.ofSource(q, e) {
			return true
		}
	}
	return false
}

// latest is when the last transaction ended of all findings of the query's source; 0 without any.
func (c *Catalog) latest(q *Query) (at int64) {
	for i := c.head; i < len(c.entries); i++ {
		if e := &c.entries[i]; e.ended[1] > at && c.ofSource(q, e) {
			at = e.ended[1]
		}
	}
	return at
}

func (c *Catalog) ofSource(q *Query, e *entry) bool {
	source := c.slots[e.group].group.Source
	if q.Source == "" {
		return q.Except == "" || source != q.Except
	}
	return source == q.Source
}

// Bars is the number of bars of a trend.
const Bars = 24

// Row is a group with its findings that match a query.
type Row struct {
	Group
	Key      string
	Findings int
	Stands   int64                 // for so many findings
	States   map[finding.State]int // of them
	Expected int                   // of them, allowed by the expected level
	Certain  int
	Gravity  int   // of the worst of them: 2 violates the expected level, 1 may do so, 0 does not
	First    int64 // when the last transaction of the first one ended, ns, or else when it was found; 0: not known
	Last     int64 // the same of the last one
	Since    int   // findings that are newer than the acknowledgement
	Latest   uint64
	Trend    [Bars]int // of when the last transactions of its findings ended, as First
	Marks
}

// Orders of groups.
const (
	ByLast  = "last"  // the one with the newest first
	ByCount = "count" // the largest first
	ByFirst = "first" // the one that is seen since the shortest time first
	ByWorst = "worst" // those that violate the expected level first, then by last
)

// Groups are the groups of the findings that match, and the width of a bar, ns. The last bar ends
// behind the query's instant, or with its stretch of time. All bars together are that stretch. Where it has no begin, they hold
// three of four findings at least: old ones do not make all of them wide.
type Groups struct {
	Rows     []Row // at most so many as were asked for, behind those that were left out
	Total    int   // groups
	Findings int
	Width    int64
	End      int64
	Before   int // findings that ended before all bars
}

// widths of bars, in seconds.
var widths = []int64{60, 5 * 60, 15 * 60, 3600, 3 * 3600, 6 * 3600, 24 * 3600, 7 * 24 * 3600, 28 * 24 * 3600}

// Group collects what matches.
func (c *Catalog) Group(q Query, by string, skip, most int) Groups {
	q = c.Spanned(q)
	m := c.matcher(&q)
	at := make([]int32, len(c.slots)) // index of the row, and 1
	var rows []Row
	var g Groups
	counts := make([][7]int, 0)
	spread := q.spread()
	for i := c.head; i < len(c.entries); i++ {
		e := &c.entries[i]
		if !m.matches(e) {
			continue
		}
		if at[e.group] == 0 {
			x := &c.slots[e.group]
			rows = append(rows, Row{Group: x.group, Key: x.key, Marks: c.marks[x.key]})
			counts = append(counts, [7]int{})
			at[e.group] = int32(len(rows))
		}
		n := at[e.group] - 1
		rows[n].add(e)
		counts[n][e.state]++
		g.Findings++
		spread.add(e.ended[1])
	}
	g.Total = len(rows)
	g.Width, g.End = spread.bars()
	index := make([]int, len(rows))
	for i := range index {
		index[i] = i
	}
	slices.SortFunc(index, func(i, j int) int { return compare(&rows[i], &rows[j], by) })
	index = index[min(skip, len(index)):]
	index = index[:min(most, len(index))]
	shown := make(map[int32]int, len(index))
	for to, from := range index {
		g.Rows = append(g.Rows, rows[from])
		g.Rows[to].States = map[finding.State]int{}
		for state, n := range counts[from] {
			if n > 0 {
				g.Rows[to].States[states[state]] = n
			}
		}
		shown[int32(from)] = to
	}
	for i := c.head; i < len(c.entries); i++ { // only of what is shown, by the width that fits all
		e := &c.entries[i]
		if at[e.group] == 0 || e.ended[1] <= 0 || !m.matches(e) {
			continue
		}
		if to, ok := shown[at[e.group]-1]; ok {
			// A clock that is ahead counts in the last bar.
			if bar := Bars - 1 - max(g.End-1-e.ended[1], 0)/g.Width; bar >= 0 {
				g.Rows[to].Trend[bar]++
			}
		}
	}
	g.Before = spread.before(g.Width)
	return g
}

func (r *Row) add(e *entry) {
	r.Findings++
	r.Stands += e.count
	if e.flags&flagExpected != 0 {
		r.Expected++
	}
	if e.flags&flagCertain != 0 {
		r.Certain++
	}
	r.Gravity = max(r.Gravity, e.gravity(r.Kind))
	if seen := e.ended[1]; seen > 0 && (r.First == 0 || seen < r.First) {
		r.First = seen
	}
	r.Last, r.Latest = max(r.Last, e.last), max(r.Latest, e.order)
	if r.Acknowledged != nil && e.first > r.Acknowledged.At {
		r.Since++
	}
}

// gravity of a finding of a kind, as of a [Row].
func (e *entry) gravity(kind finding.Kind) int {
	switch state := states[e.state]; {
	case state == finding.ResolvedViolated:
		return 2
	case state == finding.Withdrawn, state == finding.ResolvedOK, kind != finding.KindViolation, e.flags&flagExpected != 0:
		return 0
	case state == finding.Waiting, e.flags&flagCertain == 0:
		return 1
	}
	return 2
}

func compare(a, b *Row, by string) int {
	switch by {
	case ByWorst:
		return cmp.Or(cmp.Compare(b.Gravity, a.Gravity), cmp.Compare(b.Last, a.Last), cmp.Compare(b.Latest, a.Latest))
	case ByCount:
		return cmp.Or(cmp.Compare(b.Findings, a.Findings), cmp.Compare(b.Latest, a.Latest))
	case ByFirst:
		return cmp.Or(cmp.Compare(b.First, a.First), cmp.Compare(b.Latest, a.Latest))
	}
	return cmp.Or(cmp.Compare(b.Last, a.Last), cmp.Compare(b.Latest, a.Latest))
}

// spread counts findings by the narrowest bars that reach them.
type spread struct {
	since, until int64
	begins       []int64 // of the first bar, by width
	counts       []int   // the last one are those that no bars reach
	all          int
}

func (q *Query) spread() *spread {
	s := &spread{since: q.Since, until: q.Until, counts: make([]int, len(widths)+1)}
	if s.until == 0 {
		s.until = q.Now
	}
	for _, w := range widths {
		s.begins = append(s.begins, (s.until/(w*1e9)+1-Bars)*w*1e9)
	}
	return s
}

// add counts a finding by when it ended.
func (s *spread) add(ended int64) {
	if ended <= 0 {
		return
	}
	n := 0
	for n < len(s.begins) && ended < s.begins[n] {
		n++
	}
	s.counts[n]++
	s.all++
}

// bars are the width of a bar, and the end of the last one.
func (s *spread) bars() (wide, end int64) {
	if s.since > 0 && s.since < s.until {
		const second = int64(1e9)
		wide = ((s.until-s.since-1)/(Bars*second) + 1) * second
		return wide, s.since + Bars*wide
	}
	reached := 0
	for i, w := range widths {
		wide = w * 1e9
		if reached += s.counts[i]; 4*reached >= 3*s.all {
			break
		}
	}
	return wide, (s.until/wide + 1) * wide
}

// before counts those that ended before all bars of a width.
func (s *spread) before(wide int64) (n int) {
	if s.since > 0 {
		return 0
	}
	for i, w := range widths {
		if w*1e9 > wide {
			n += s.counts[i]
		}
	}
	return n + s.counts[len(widths)]
}

// Beside looks for matches in list alone, with the marks of the catalog. It gives their orders, the
// newest first. The catalog stays as it is.
func (c *Catalog) Beside(list []Summary, q Query) []uint64 {
	other := New(len(list), 0)
	other.marks = c.marks
	other.Put(list)
	return other.List(q, 0, len(list))
}
