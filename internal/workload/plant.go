package workload

import (
	"fmt"

	"github.com/isowatch/isowatch/event"
)

// Planted is an anomaly that was put into the stream on purpose.
type Planted struct {
	Name    string   // the plain name, such as "lost-update"
	Anomaly string   // Elle's name of the most serious finding
	Refutes []string // which of the four levels it refutes, by name
	Txns    []string // ids of the transactions of the group
	Keys    []string // the keys of the group, which nothing else uses
}

// PlantGroup makes one instance of the named anomaly. The ids, keys and sessions of its
// transactions begin with prefix, and their values lie above base. The first starts at start;
// each lasts about length ns. Transactions of one session follow one another, all others
// overlap.
func PlantGroup(kind Kind, name, prefix string, base, start, length int64) (Planted, []Txn, error) {
	t, ok := templateOf(kind, name)
	if !ok {
		return Planted{}, nil, fmt.Errorf("workload: anomaly %q cannot be planted in this kind; known: %v", name, Anomalies(kind))
	}
	txns, err := Parse(t.text(kind))
	if err != nil {
		return Planted{}, nil, fmt.Errorf("workload: template %q: %w", name, err)
	}
	planted := Planted{Name: t.name, Anomaly: t.anomaly, Refutes: t.scope.levels()}
	free := map[string]int64{} // session -> end of its latest transaction
	known := map[string]bool{} // keys listed
	for i := range txns {
		txn := &txns[i]
		if txn.Session == "" {
			txn.Session, txn.Seq = "s"+txn.ID, 1
		}
		txn.ID, txn.Session = prefix+txn.ID, prefix+txn.Session
		if txn.End == 0 {
			txn.Start = max(start+int64(i)*(length/8), free[txn.Session]+1)
			txn.End = txn.Start + length
		} else { // in lengths from the group's start
			txn.Start, txn.End = start+txn.Start*length, start+txn.End*length
		}
		free[txn.Session] = txn.End
		planted.Txns = append(planted.Txns, txn.ID)
		for j := range txn.Ops {
			o := &txn.Ops[j]
			o.relocate(prefix, base)
			if !known[o.Key] {
				known[o.Key] = true
				planted.Keys = append(planted.Keys, o.Key)
			}
		}
	}
	return planted, txns, nil
}

// relocate moves o to keys of its own and to values above base.
func (o *Op) relocate(prefix string, base int64) {
	o.Key = prefix + o.Key
	if !o.IsList && !o.Absent || o.Kind != event.Read {
		o.Value += base
	}
	for i := range o.List {
		o.List[i] += base
	}
}

// templateValues is above the greatest value that a template uses.
const templateValues = 10

// plant yields the next anomaly in turn, around the present instant.
func (g *Generator) plant() {
	n := len(g.planted)
	name := g.cfg.Plant[n%len(g.cfg.Plant)]
	base := g.nextValue
	g.nextValue += templateValues
	length := 8 + g.span(g.cfg.Busy)
	planted, txns, err := PlantGroup(g.cfg.Kind, name, fmt.Sprintf("p%d-", n+1), base, g.clock, length)
	if err != nil {
		return // validate has looked every name up, and a test parses every template
	}
	for i := range txns {
		txns[i].Source = g.cfg.Source
	}
	g.planted = append(g.planted, planted)
	g.ready = append(g.ready, txns...)
}
