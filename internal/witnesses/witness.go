package witnesses

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/workload"
)

// Witness is a witness with its transactions as package workload holds them.
type Witness struct {
	Members []Member
	Rest    finding.Witness // but Txns
}

// Member is a transaction of a witness.
type Member struct {
	workload.Txn
	Epoch  string
	Stale  bool
	Commit int64 // timestamp; 0: none
}

// Clone copies w deeply.
func (w *Witness) Clone() *Witness {
	c := &Witness{Members: slices.Clone(w.Members), Rest: w.Rest}
	for i := range c.Members {
		c.Members[i].Txn = c.Members[i].Txn.Clone()
	}
	c.Rest.Edges = slices.Clone(w.Rest.Edges)
	for i := range c.Rest.Edges {
		c.Rest.Edges[i].Past = slices.Clone(c.Rest.Edges[i].Past)
	}
	c.Rest.Choices = slices.Clone(w.Rest.Choices)
	c.Rest.Repeated = slices.Clone(w.Rest.Repeated)
	return c
}

// Finding is the witness as the verifier takes it.
func (w *Witness) Finding() (*finding.Witness, error) {
	f := w.Rest
	for i := range w.Members {
		r, err := w.Members[i].record()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.Members[i].ID, err)
		}
		f.Txns = append(f.Txns, r)
	}
	return &f, nil
}

// record is the transaction as the decoder gives it.
func (m *Member) record() (event.Record, error) {
	extra := ""
	if m.Epoch != "" {
		extra += fmt.Sprintf("%q:%q,", "epoch", m.Epoch)
	}
	if m.Commit != 0 {
		extra += fmt.Sprintf("%q:%d,", "commit_ts", m.Commit)
	}
	if m.Stale {
		extra += `"stale":true,`
	}
	var d event.Decoder
	var b event.Batch
	d.Decode(&b, event.Position{}, append([]byte("{"+extra), workload.AppendJSON(nil, &m.Txn)[1:]...))
	if len(b.Bad) > 0 {
		return event.Record{}, fmt.Errorf("%s", b.Bad[0].Reason)
	}
	return b.Record(&b.Txns[0]), nil
}

func build(entries []entry) (*Witness, error) {
	w := &Witness{}
	for pass := range 2 { // transactions first: the others name them
		for _, e := range entries {
			word, rest, _ := strings.Cut(e.text, " ")
			if (word == "txn") != (pass == 0) {
				continue
			}
			if err := w.line(word, rest); err != nil {
				return nil, fmt.Errorf("%q: %w", e.text, err)
			}
		}
	}
	return w, nil
}

func (w *Witness) line(word, rest string) error {
	_, about, _ := strings.Cut(rest, ": ")
	number, _, _ := strings.Cut(rest, ":")
	switch word {
	case "txn":
		return w.member(rest)
	case "set":
		for _, s := range strings.Fields(rest) {
			if err := w.set(s); err != nil {
				return err
			}
		}
		return nil
	case "edge":
		return w.edge(number, about)
	case "choice":
		return w.choice(about)
	case "repeated":
		words := strings.Fields(about)
		if len(words) != 2 {
			return fmt.Errorf("want repeated NUMBER: TXN KEY")
		}
		t, err := w.index(words[0])
		w.Rest.Repeated = append(w.Rest.Repeated, finding.DuplicateRead{Txn: t, Key: words[1]})
		return err
	}
	return fmt.Errorf("no such line")
}

func (w *Witness) member(rest string) error {
	var m Member
	head, ops, _ := strings.Cut(rest, ":")
	var kept []string
	for _, s := range strings.Fields(head) {
		name, value, _ := strings.Cut(s, "=")
		var err error
		switch name {
		case "epoch":
			m.Epoch = value
		case "commit":
			m.Commit, err = strconv.ParseInt(value, 10, 64)
		case "stale":
			m.Stale = true
		default:
			kept = append(kept, s)
		}
		if err != nil {
			return err
		}
	}
	txns, err := workload.Parse("txn " + strings.Join(kept, " ") + ":" + ops)
	if err != nil {
		return err
	}
	m.Txn = txns[0]
	w.Members = append(w.Members, m)
	return nil
}

// index is the place of the transaction with this id.
func (w *Witness) index(id string) (int, error) {
	i := slices.IndexFunc(w.Members, func(m Member) bool { return m.ID == id })
	if i < 0 {
		return 0, fmt.Errorf("no transaction is called %s", id)
	}
	return i, nil
}

func (w *Witness) set(s string) (err error) {
	name, value, _ := strings.Cut(s, "=")
	switch name {
	case "anomaly":
		kinds := finding.AnomalyKinds()
		at := slices.IndexFunc(kinds, func(k finding.AnomalyKind) bool { return k.String() == value })
		switch {
		case value == "none":
			w.Rest.Anomaly = 0
		case at < 0:
			return fmt.Errorf("no anomaly is called %q", value)
		default:
			w.Rest.Anomaly = kinds[at]
		}
	case "key":
		w.Rest.Key = value
	case "value":
		w.Rest.Value = value
	case "level":
		w.Rest.Level = value
	case "op":
		w.Rest.Op, err = strconv.Atoi(value)
	case "drift":
		w.Rest.Drift, err = strconv.ParseInt(value, 10, 64)
	case "rows":
		w.Rest.Rows, err = strconv.ParseBool(value)
	case "vacant":
		w.Rest.Vacant, err = strconv.ParseBool(value)
	case "strangers":
		w.Rest.Strangers, err = strconv.ParseBool(value)
	case "by-version":
		w.Rest.ByVersion, err = strconv.ParseBool(value)
	case "numeric":
		w.Rest.Numeric, err = strconv.ParseBool(value)
	case "by-commit":
		w.Rest.ByCommit, err = strconv.ParseBool(value)
	default:
		err = fmt.Errorf("%q is not to be set", name)
	}
	return err
}

// choice reads "KEY A B", or "KEY A from B C".
func (w *Witness) choice(text string) error {
	words := strings.Fields(text)
	if len(words) < 3 {
		return fmt.Errorf("want KEY A B, or KEY A from B C")
	}
	c := finding.Choice{Key: words[0]}
	a, err := w.index(words[1])
	c.A = a
	if err != nil || words[2] != "from" {
		if err == nil {
			c.B, err = w.index(words[2])
		}
		w.Rest.Choices = append(w.Rest.Choices, c)
		return err
	}
	for _, id := range words[3:] {
		t, err := w.index(id)
		if err != nil {
			return err
		}
		c.Writers = append(c.Writers, t)
	}
	w.Rest.Choices = append(w.Rest.Choices, c)
	return nil
}
