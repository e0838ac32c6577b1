package capture

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/event"
)

// teller tells a transaction of random operations, and keeps what a reader of the
// record should find.
type teller struct {
	rng   *rand.Rand
	plain bool
	want  []event.RecordOp
}

// FuzzRecord decodes what was recorded: it is what was told.
func FuzzRecord(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed, seed%2 == 0)
	}
	f.Fuzz(func(t *testing.T, seed uint64, plain bool) {
		opt := WithKey([]byte("0123456789abcdef"))
		if plain {
			opt = WithPlainValues()
		}
		x := teller{rng: rand.New(rand.NewPCG(seed, 0)), plain: plain}
		status := Status(1 + x.rng.IntN(3))
		var session *Session
		got := one(t, recorded(t, func(r *Recorder) {
			if x.rng.IntN(2) == 0 {
				session = r.Session("s\"")
			}
			txn := r.Begin(Begin{Session: session, Name: "n\n", Isolation: "i", TraceID: "t", Stale: true, Labels: map[string]string{"endpoint": "\"\xff"}})
			for range x.rng.IntN(20) {
				x.tell(txn)
			}
			txn.SetStartTS(5)
			txn.SetCommitTS(6)
			txn.End(status)
			txn.End(Aborted)
			txn.Read("late", 1)
		}, opt))
		if got.Session != session.Name() || (got.Flags&event.HasSeq != 0) != (session != nil) || got.End < got.Start || got.Start == 0 {
			t.Errorf("head: %+v", got)
		}
		got.Flags &^= event.HasSeq
		want := event.Record{
			ID: got.ID, Source: "bank", Session: got.Session, Seq: got.Seq, Name: "n\n", Isolation: "i", TraceID: "t", Status: status,
			Labels: map[string]string{"endpoint": "\"\ufffdff"},
			Flags:  event.HasTimes | event.HasStartTS | event.HasCommitTS | event.Stale, Start: got.Start, End: got.End, StartTS: 5, CommitTS: 6,
			Ops: x.want,
		}
		if len(want.Ops) == 0 {
			want.Ops = []event.RecordOp{}
		}
		for i := range got.Ops {
			got.Ops[i].Flags &^= event.HasExtra
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got\n%+v\nwant\n%+v", got, want)
		}
	})
}

var texts = []string{"", "a", "k/1", "\"", "\\", "\x00", "ü", "\u2028<>", "line\nfeed", "0", "null", "[]"}

func (x *teller) text() string { return texts[x.rng.IntN(len(texts))] }

// any is a value, and its canonical JSON.
func (x *teller) any() (any, string) {
	s := x.text()
	values := []any{
		nil, true, false, 0, -7, int64(1) << 62, uint64(1) << 63, 1.5, -0.25, s, []byte(s), json.Number("1.0"), json.RawMessage(` {"b": 1, "a" : [ 2 ]} `),
		map[string]any{s: s}, []any{}, []any{s, 1}, struct{ A, B string }{s, "b"},
	}
	v := values[x.rng.IntN(len(values))]
	switch v := v.(type) {
	case []byte:
		return v, quoted(s)
	case string:
		return v, quoted(s)
	case json.RawMessage:
		return v, `{"b":1,"a":[2]}`
	case map[string]any:
		return v, "{" + quoted(s) + ":" + quoted(s) + "}"
	case []any:
		if len(v) == 2 {
			return v, "[" + quoted(s) + ",1]"
		}
	case struct{ A, B string }:
		return v, `{"A":` + quoted(s) + `,"B":"b"}`
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return v, string(text)
}

// quoted is the canonical form of a text, slowly.
func quoted(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}

// sent is the canonical text as the record should have it.
func (x *teller) sent(text string) string {
	if x.plain || text == "null" {
		return text
	}
	return quoted(hashed("0123456789abcdef", "bank", text))
}

// hashed returns what docs/capture.md says of a value's hash.
func hashed(secret, source, text string) string {
	key := hmac.New(sha256.New, []byte(secret))
	key.Write([]byte("isowatch capture 1 " + source))
	mac := hmac.New(sha256.New, key.Sum(nil))
	mac.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

func (x *teller) value() (any, string) {
	v, text := x.any()
	return v, x.sent(text)
}

// elements are some values, the array of them, and its elements.
func (x *teller) elements() (all []any, array string, texts []string) {
	for range x.rng.IntN(4) {
		v, text := x.value()
		all, texts = append(all, v), append(texts, text)
	}
	return all, "[" + strings.Join(texts, ",") + "]", texts
}

func (x *teller) details() ([]Detail, event.RecordOp) {
	switch x.rng.IntN(6) {
	case 0:
		return []Detail{Version(int64(7)), PrevVersion("6")}, event.RecordOp{Version: "7", PrevVersion: `"6"`}
	case 1:
		return []Detail{Version(uint64(1) << 63)}, event.RecordOp{Version: "9223372036854775808"}
	case 2:
		return []Detail{Version(""), PrevVersion(0)}, event.RecordOp{Version: `""`, PrevVersion: "0"}
	}
	return nil, event.RecordOp{}
}

// tell tells one random operation.
func (x *teller) tell(txn *Txn) {
	key := x.text()
	d, o := x.details()
	o.Key = key
	v, text := x.value()
	n := x.rng.Int64N(2000) - 1000
	elems, array, each := x.elements()
	o.Value = text
	switch x.rng.IntN(14) {
	case 0:
		txn.Read(key, v, d...)
		o.Kind = event.Read
		if text[0] == '[' {
			o.Data, o.Flags, o.Elems = event.Register, event.IsArray, elementsOf(text)
		}
	case 1:
		txn.ReadNothing(key, d...)
		o.Kind, o.Flags, o.Value = event.Read, event.NotFound, ""
	case 2:
		txn.Write(key, v, d...)
		o.Kind = event.Write
	case 3:
		txn.Insert(key, v, d...)
		o.Kind = event.Insert
	case 4:
		txn.Delete(key, d...)
		o.Kind, o.Value = event.Delete, ""
	case 5:
		txn.Append(key, v, d...)
		o.Kind = event.Append
	case 6:
		txn.Add(key, v, d...)
		o.Kind = event.Add
	case 7:
		txn.Remove(key, v, d...)
		o.Kind = event.Remove
	case 8:
		txn.ReadList(key, elems, d...)
		o.Kind, o.Data, o.Flags, o.Value, o.Elems = event.Read, event.List, event.IsArray, array, each
	case 9:
		txn.ReadSet(key, elems, d...)
		o.Kind, o.Data, o.Flags, o.Value, o.Elems = event.Read, event.Set, event.IsArray, array, each
	case 10:
		txn.Inc(key, n, d...)
		o.Kind, o.Data, o.Value = event.Inc, event.Counter, fmt.Sprint(n)
	case 11:
		txn.ReadCounter(key, n, d...)
		o.Kind, o.Data, o.Value = event.Read, event.Counter, fmt.Sprint(n)
	case 12:
		expected, was := x.value()
		seen, saw := x.value()
		txn.CAS(key, expected, v, n > 0, append(d, Seen(seen))...)
		o.Kind, o.Expected, o.Seen = event.CAS, was, saw
		if n > 0 {
			o.Flags = event.Success
		}
	case 13:
		txn.Range(Scan{From: key, To: "z", Desc: n > 0, Limit: int(n)}, []Row{{Key: "a", Value: v, Version: Version("7")}, {Key: key, Value: v}, {Key: "b", Value: v, Version: Version(n)}, {Key: "c", Value: v, Version: PrevVersion(5)}})
		o = event.RecordOp{
			Kind: event.Range, From: key, To: "z", HasFrom: key != "", HasTo: true, Desc: n > 0, Limit: max(n, 0),
			Rows: []event.RecordRow{{Key: "a", Value: text, Version: `"7"`}, {Key: key, Value: text}, {Key: "b", Value: text, Version: strconv.FormatInt(n, 10)}, {Key: "c", Value: text}},
		}
	}
	x.want = append(x.want, o)
}

func elementsOf(array string) []string {
	var all []json.RawMessage
	if err := json.Unmarshal([]byte(array), &all); err != nil {
		panic(err)
	}
	var texts []string
	for _, e := range all {
		texts = append(texts, string(e))
	}
	return texts
}
