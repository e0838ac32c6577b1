package workload

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/isowatch/isowatch/event"
)

// The text form is one transaction a line, for tests, templates and shrunk
// failures:
//
//	txn T1 session=a seq=1: append x 1, read y [1,2], read z nil, write z 3
//	txn T2 status=unknown start=5 end=9: read z 3
//
// Parse counts seq from 1 within a session unless the line gives it;
// seq=none leaves it out. Lines that are blank or start with # are skipped.

// Text is the text form of t, with every recorded field, without a newline.
func (t *Txn) Text() string {
	var b strings.Builder
	b.WriteString("txn " + t.ID)
	if t.Source != "" {
		b.WriteString(" source=" + t.Source)
	}
	if t.Session != "" {
		b.WriteString(" session=" + t.Session)
		if t.Seq == 0 {
			b.WriteString(" seq=none")
		} else {
			fmt.Fprintf(&b, " seq=%d", t.Seq)
		}
	}
	if t.Status != event.Committed {
		b.WriteString(" status=" + statusText(t.Status))
	}
	if t.End != 0 {
		fmt.Fprintf(&b, " start=%d end=%d", t.Start, t.End)
	}
	b.WriteByte(':')
	for i := range t.Ops {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(" " + t.Ops[i].Text())
	}
	return b.String()
}

// Text is the text form of o.
func (o *Op) Text() string { return o.plainText() + o.versionText() }

func (o *Op) plainText() string {
	value := strconv.FormatInt(o.Value, 10)
	if text := o.otherText(); text != "" {
		return text
	}
	switch {
	case o.Kind == event.Write:
		return "write " + o.Key + " " + value
	case o.Kind == event.Append:
		return "append " + o.Key + " " + value
	case o.Absent:
		return "read " + o.Key + " nil"
	case o.IsList:
		elems := make([]string, len(o.List))
		for i, e := range o.List {
			elems[i] = strconv.FormatInt(e, 10)
		}
		return "read " + o.Key + " [" + strings.Join(elems, ",") + "]"
	default:
		return "read " + o.Key + " " + value
	}
}

// Parse reads transactions in the text form. An error names the line.
func Parse(text string) ([]Txn, error) {
	var txns []Txn
	last := map[string]int64{} // session -> the seq of its latest line
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		t, err := parseLine(line, last)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		txns = append(txns, t)
	}
	return txns, nil
}

func parseLine(line string, last map[string]int64) (Txn, error) {
	head, body, ok := strings.Cut(line, ":")
	words := strings.Fields(head)
	if !ok || len(words) < 2 || words[0] != "txn" {
		return Txn{}, fmt.Errorf("%q is not of the form \"txn ID field=value...: operations\"", line)
	}
	t := Txn{ID: words[1], Status: event.Committed}
	seq := "" // as written
	for _, w := range words[2:] {
		name, value, ok := strings.Cut(w, "=")
		if !ok || value == "" {
			return Txn{}, fmt.Errorf("%q is not of the form field=value", w)
		}
		if name == "seq" {
			seq = value
		} else if err := t.setField(name, value); err != nil {
			return Txn{}, err
		}
	}
	if err := t.setSeq(seq, last); err != nil {
		return Txn{}, err
	}
	for _, s := range strings.Split(body, ", ") {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		o, err := parseOp(s)
		if err != nil {
			return Txn{}, err
		}
		t.Ops = append(t.Ops, o)
	}
	return t, nil
}

func (t *Txn) setField(name, value string) (err error) {
	switch name {
	case "source":
		t.Source = value
	case "session":
		t.Session = value
	case "start":
		t.Start, err = strconv.ParseInt(value, 10, 64)
	case "end":
		t.End, err = strconv.ParseInt(value, 10, 64)
	case "status":
		switch value {
		case "committed":
			t.Status = event.Committed
		case "aborted":
			t.Status = event.Aborted
		case "unknown":
			t.Status = event.Unknown
		default:
			err = fmt.Errorf("status %q is not one of committed, aborted, unknown", value)
		}
	default:
		err = fmt.Errorf("unknown field %q", name)
	}
	return err
}

// setSeq sets the place in the session: as written, or one after last.
func (t *Txn) setSeq(written string, last map[string]int64) error {
	switch {
	case written == "none" || t.Session == "":
		return nil
	case written == "":
		t.Seq = last[t.Session] + 1
	default:
		n, err := strconv.ParseInt(written, 10, 64)
		if err != nil || n < 1 {
			return fmt.Errorf("seq %q is not an integer from 1", written)
		}
		t.Seq = n
	}
	last[t.Session] = t.Seq
	return nil
}

func parseOp(s string) (Op, error) {
	words := strings.Fields(s)
	var version Other
	words, err := version.cutVersion(words)
	if err != nil {
		return Op{}, err
	}
	o, err := parseKinds(words, s)
	o.Version, o.PrevVersion = version.Version, version.PrevVersion
	return o, err
}

func parseKinds(words []string, s string) (Op, error) {
	if o, ok, err := parseOther(words); ok {
		return o, err
	}
	if len(words) != 3 {
		return Op{}, fmt.Errorf("operation %q is not of the form \"read|write|append KEY VALUE\"", s)
	}
	kind, key, value := words[0], words[1], words[2]
	if kind == "read" && value == "nil" {
		return ReadAbsent(key), nil
	}
	if kind == "read" && strings.HasPrefix(value, "[") {
		elems, err := parseList(value)
		if err != nil {
			return Op{}, fmt.Errorf("operation %q: %w", s, err)
		}
		return ReadList(key, elems...), nil
	}
	v, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return Op{}, fmt.Errorf("operation %q: value %q is not an integer", s, value)
	}
	switch kind {
	case "read":
		return Read(key, v), nil
	case "write":
		return Write(key, v), nil
	case "append":
		return Append(key, v), nil
	}
	return Op{}, fmt.Errorf("operation %q: %q is not one of read, write, append", s, kind)
}

func parseList(s string) ([]int64, error) {
	inner, ok := strings.CutSuffix(strings.TrimPrefix(s, "["), "]")
	if !ok {
		return nil, fmt.Errorf("list %q has no closing bracket", s)
	}
	if inner == "" {
		return nil, nil
	}
	var elems []int64
	for _, w := range strings.Split(inner, ",") {
		v, err := strconv.ParseInt(w, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("element %q is not an integer", w)
		}
		elems = append(elems, v)
	}
	return elems, nil
}
