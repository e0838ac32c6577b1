package probe_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/isowatch/isowatch/event"
)

// model holds what a database holds that runs one transaction after the other.
type model struct {
	registers map[string]string
	lists     map[string][]string
	counters  map[string]int64
}

func newModel() *model {
	return &model{map[string]string{}, map[string][]string{}, map[string]int64{}}
}

// run applies a record and says what in it cannot be.
func (m *model) run(r *event.Record) string {
	before := m.copy()
	for i := range r.Ops {
		if why := m.op(&r.Ops[i]); why != "" {
			return fmt.Sprintf("%s, operation %d: %s", r.ID, i, why)
		}
	}
	if r.Status != event.Committed {
		*m = *before
	}
	return ""
}

func (m *model) op(o *event.RecordOp) string {
	switch o.Kind {
	case event.Write:
		m.registers[o.Key] = o.Value
	case event.Insert:
		if value, found := m.registers[o.Key]; found {
			return "inserts " + o.Key + ", which holds " + value
		}
		m.registers[o.Key] = o.Value
	case event.Delete:
		if _, found := m.registers[o.Key]; !found {
			return "deletes " + o.Key + ", which is not there"
		}
		delete(m.registers, o.Key)
	case event.Append:
		m.lists[o.Key] = append(slices.Clip(m.lists[o.Key]), o.Value)
	case event.Inc:
		n, err := strconv.ParseInt(o.Value, 10, 64)
		if err != nil {
			return err.Error()
		}
		m.counters[o.Key] += n
	case event.Range:
		if want := m.rows(o.From, o.To); !slices.Equal(o.Rows, want) {
			return fmt.Sprintf("range %s to %s: %v, want %v", o.From, o.To, o.Rows, want)
		}
	case event.Read:
		if want := m.read(o); o.Value != want || (o.Flags&event.NotFound != 0) != (want == "") {
			return fmt.Sprintf("reads %s as %q, want %q", o.Key, o.Value, want)
		}
	}
	return ""
}

// read is the value that a read must have found, "" for none.
func (m *model) read(o *event.RecordOp) string {
	switch {
	case o.Flags&event.IsArray != 0:
		return "[" + strings.Join(m.lists[o.Key], ",") + "]"
	case o.Data == event.Counter:
		return strconv.FormatInt(m.counters[o.Key], 10)
	default:
		return m.registers[o.Key]
	}
}

func (m *model) rows(from, to string) []event.RecordRow {
	var rows []event.RecordRow
	for key, value := range m.registers {
		if from <= key && key < to {
			rows = append(rows, event.RecordRow{Key: key, Value: value})
		}
	}
	slices.SortFunc(rows, func(a, b event.RecordRow) int { return strings.Compare(a.Key, b.Key) })
	return rows
}

func (m *model) copy() *model {
	c := newModel()
	for k, v := range m.registers {
		c.registers[k] = v
	}
	for k, v := range m.lists {
		c.lists[k] = v
	}
	for k, v := range m.counters {
		c.counters[k] = v
	}
	return c
}
