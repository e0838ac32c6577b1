package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The oracle reads whole transactions with encoding/json, slowly and plainly.
// errOutside marks what it cannot judge: duplicate names and unpaired
// surrogates, which encoding/json accepts, and depth.
var (
	errOutside = errors.New("not for the oracle")
	errReject  = errors.New("rejected")
)

type object map[string]json.RawMessage

// oracle gives the transaction that rec is, nil for an operation-level record.
func oracle(rec []byte) (r *Record, err error) {
	defer func() {
		switch failure := recover(); failure {
		case nil:
		case errReject, errOutside:
			r, err = nil, failure.(error)
		default:
			panic(failure)
		}
	}()
	if !utf8.Valid(rec) || !json.Valid(rec) {
		return nil, errReject
	}
	canonicalJSON(rec)
	top := fieldsOf(rec)
	if top.has("type") || top["specversion"] != nil {
		return nil, errOutside
	}
	return oracleTxn(top), nil
}

func reject(wrong bool) {
	if wrong {
		panic(errReject)
	}
}

func fieldsOf(raw []byte) object {
	var o object
	reject(json.Unmarshal(raw, &o) != nil || o == nil)
	return o
}

func (o object) has(name string) bool { return o[name] != nil && string(o[name]) != "null" }

func oracleTxn(top object) *Record {
	r := &Record{
		ID: top.name("txn"), Source: top.name("source"), Epoch: top.name("epoch"), Session: top.name("session"),
		Name: top.name("name"), Isolation: top.name("isolation"), TraceID: top.name("trace_id"),
		Labels: top.labels(),
	}
	list, given := top["ops"] // null says that there are none
	reject(r.ID == "" || !top.has("status") || !given)
	if r.Source == "" {
		r.Source = "default"
	}
	// Escapes in the words of the format are not understood: nobody writes
	// them, and a dead letter is safe.
	status, known := map[string]Status{`"committed"`: Committed, `"aborted"`: Aborted, `"unknown"`: Unknown}[string(top["status"])]
	reject(!known)
	r.Status = status
	r.Seq = top.int("seq", &r.Flags, HasSeq)
	r.StartTS = top.int("start_ts", &r.Flags, HasStartTS)
	r.CommitTS = top.int("commit_ts", &r.Flags, HasCommitTS)
	if top.bool("stale") {
		r.Flags |= Stale
	}
	start, end := top.time("start"), top.time("end")
	if top.has("start") && top.has("end") {
		reject(end < start)
		r.Start, r.End, r.Flags = start, end, r.Flags|HasTimes
	}
	var ops []json.RawMessage
	reject(json.Unmarshal(list, &ops) != nil)
	r.Ops = make([]RecordOp, len(ops))
	for i, op := range ops {
		r.Ops[i] = oracleOp(fieldsOf(op))
	}
	return r
}

func oracleOp(f object) RecordOp {
	kinds := strings.Fields(`"r" "w" "append" "add" "remove" "inc" "cas" "insert" "delete" "range"`)
	o := RecordOp{Key: f.name("key")}
	for i, kind := range kinds {
		if string(f["op"]) == kind {
			o.Kind = OpKind(i + 1)
		}
	}
	reject(o.Kind == 0 || o.Kind != Range && !f.has("key"))
	if f.has("kind") {
		kind, known := map[string]DataKind{`"register"`: Register, `"list"`: List, `"set"`: Set, `"counter"`: Counter}[string(f["kind"])]
		reject(!known)
		o.Data = kind
	}
	o.Version, o.PrevVersion = f.version("version"), f.version("prev_version")
	if o.Version == o.PrevVersion {
		o.PrevVersion = ""
	}
	value := f["value"]
	switch o.Kind {
	case Read:
		oracleRead(f, &o)
		return o
	case Delete:
		return o
	case Range:
		oracleRange(f, &o)
		return o
	case Inc:
		reject(value == nil || !strings.ContainsAny(string(value[:1]), "-0123456789"))
	case CAS:
		reject(!f.has("success") || f["expected"] == nil)
		if f.bool("success") {
			o.Flags |= Success
		}
		o.Expected = canonicalJSON(f["expected"])
		if f["seen"] != nil {
			o.Seen = canonicalJSON(f["seen"])
		}
	}
	reject(value == nil)
	o.Value = canonicalJSON(value)
	return o
}

func oracleRead(f object, o *RecordOp) {
	found := f.bool("found")
	switch {
	case f.has("found") && !found:
		reject(f.has("value"))
		o.Flags |= NotFound
	case f["value"] == nil:
		reject(true)
	case !f.has("value") && !f.has("found"):
		o.Flags |= NotFound
	default:
		o.Value = canonicalJSON(f["value"])
	}
	if strings.HasPrefix(o.Value, "[") {
		o.Flags |= IsArray
		var elems []json.RawMessage
		reject(json.Unmarshal(f["value"], &elems) != nil)
		for _, e := range elems {
			o.Elems = append(o.Elems, canonicalJSON(e))
		}
	}
}

func oracleRange(f object, o *RecordOp) {
	o.From, o.To, o.HasFrom, o.HasTo = f.name("from"), f.name("to"), f.has("from"), f.has("to")
	o.Desc = f.bool("desc")
	o.Limit = f.int("limit", nil, 0)
	reject(f.has("limit") && o.Limit < 1 || !f.has("result"))
	var rows []json.RawMessage
	reject(json.Unmarshal(f["result"], &rows) != nil)
	for _, raw := range rows {
		row := fieldsOf(raw)
		reject(!row.has("key") || row["value"] == nil)
		o.Rows = append(o.Rows, RecordRow{Key: row.name("key"), Value: canonicalJSON(row["value"]), Version: row.version("version")})
	}
}

func (o object) name(name string) string {
	if !o.has(name) {
		return ""
	}
	var text string
	if json.Unmarshal(o[name], &text) == nil {
		return text
	}
	reject(!strings.ContainsAny(string(o[name][:1]), "-0123456789"))
	return string(o[name])
}

// labels are the first strings of the object within the limits, in its order.
func (o object) labels() map[string]string {
	if !o.has("labels") {
		return nil
	}
	values := fieldsOf(o["labels"])
	in := json.NewDecoder(bytes.NewReader(o["labels"]))
	_, _ = in.Token()
	var got map[string]string
	for in.More() && len(got) < MaxLabels {
		name, _ := in.Token()
		var skip json.RawMessage
		reject(in.Decode(&skip) != nil)
		var value *string
		n := name.(string)
		if json.Unmarshal(values[n], &value) != nil || value == nil || n == "" || len(n) > MaxLabelText || len(*value) > MaxLabelText {
			continue
		}
		if got == nil {
			got = map[string]string{}
		}
		got[n] = *value
	}
	return got
}

func (o object) version(name string) string {
	if !o.has(name) {
		return ""
	}
	reject(!strings.ContainsAny(string(o[name][:1]), `"-0123456789`))
	return canonicalJSON(o[name])
}

func (o object) bool(name string) bool {
	if !o.has(name) {
		return false
	}
	value, err := strconv.ParseBool(string(o[name]))
	reject(err != nil || len(o[name]) < 4)
	return value
}

func (o object) int(name string, flags *TxnFlags, flag TxnFlags) int64 {
	if !o.has(name) {
		return 0
	}
	n, err := strconv.ParseInt(string(o[name]), 10, 64)
	reject(err != nil)
	if flags != nil {
		*flags |= flag
	}
	return n
}

func (o object) time(name string) int64 {
	if !o.has(name) || o[name][0] != '"' {
		return o.int(name, nil, 0)
	}
	var text string
	var at time.Time
	reject(json.Unmarshal(o[name], &text) != nil || at.UnmarshalText([]byte(text)) != nil)
	earliest, latest := time.Unix(0, math.MinInt64), time.Unix(0, math.MaxInt64)
	reject(at.Before(earliest) || at.After(latest))
	return at.UnixNano()
}

// canonicalJSON writes raw again token by token. It panics with errOutside
// where the oracle has no say.
func canonicalJSON(raw []byte) string {
	if bytes.Contains(bytes.ToLower(raw), []byte(`\ud`)) {
		panic(errOutside)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var out bytes.Buffer
	type level struct {
		names map[string]bool // nil for an array
		n     int             // tokens so far
	}
	var stack []level
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return out.String()
		}
		reject(err != nil)
		delim, isDelim := token.(json.Delim)
		if isDelim && (delim == '}' || delim == ']') {
			stack = stack[:len(stack)-1]
			out.WriteByte(byte(delim))
			continue
		}
		if len(stack) > 0 {
			top := &stack[len(stack)-1]
			switch {
			case top.names != nil && top.n%2 == 1:
				out.WriteByte(':')
			case top.n > 0:
				out.WriteByte(',')
			}
			if name, isName := token.(string); isName && top.names != nil && top.n%2 == 0 {
				if top.names[name] {
					panic(errOutside)
				}
				top.names[name] = true
			}
			top.n++
		}
		if isDelim {
			out.WriteByte(byte(delim))
			stack = append(stack, level{})
			if delim == '{' {
				stack[len(stack)-1].names = map[string]bool{}
			}
			if len(stack) > MaxDepth {
				panic(errOutside)
			}
			continue
		}
		out.WriteString(scalarJSON(token))
	}
}

func scalarJSON(token json.Token) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	reject(enc.Encode(token) != nil)
	text := strings.TrimSuffix(out.String(), "\n")
	if _, isText := token.(string); isText {
		// encoding/json escapes these two for JavaScript; a backslash before
		// the escape belongs to the text.
		var plain strings.Builder
		for i := 0; i < len(text); i++ {
			switch {
			case strings.HasPrefix(text[i:], `\u2028`), strings.HasPrefix(text[i:], `\u2029`):
				plain.WriteRune(rune(0x2020 + int(text[i+5]-'0')))
				i += 5
			case text[i] == '\\':
				plain.WriteString(text[i : i+2])
				i++
			default:
				plain.WriteByte(text[i])
			}
		}
		return plain.String()
	}
	return text
}
