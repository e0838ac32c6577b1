package simtest

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/window"
)

type shrinkOp struct {
	Op  string `json:"op"`
	Key string `json:"key"`
}

type shrinkRec struct {
	head map[string]json.RawMessage
	ops  []json.RawMessage
}

func parseRec(r []byte) shrinkRec {
	var h map[string]json.RawMessage
	if err := json.Unmarshal(r, &h); err != nil {
		panic(err)
	}
	var s shrinkRec
	json.Unmarshal(h["ops"], &s.ops)
	s.head = h
	return s
}

func (s shrinkRec) text() []byte {
	var parts []string
	for _, o := range s.ops {
		parts = append(parts, string(o))
	}
	out := []string{}
	for _, k := range []string{"txn", "session", "seq", "status", "start", "end", "commit_ts", "isolation"} {
		if v, ok := s.head[k]; ok {
			out = append(out, fmt.Sprintf("%q:%s", k, v))
		}
	}
	return []byte("{" + strings.Join(out, ",") + `,"ops":[` + strings.Join(parts, ",") + "]}")
}

func shrink(t *testing.T, cfg window.Config, records [][]byte) {
	first := accusations(t, cfg, records)[0]
	kind, anomaly := first.Kind, first.Anomaly
	var all []shrinkRec
	for _, r := range records {
		all = append(all, parseRec(r))
	}
	fails := func(rs []shrinkRec) bool {
		var b [][]byte
		for _, r := range rs {
			b = append(b, r.text())
		}
		return slices.ContainsFunc(accusations(t, cfg, b), func(f finding.Finding) bool { return f.Kind == kind && f.Anomaly == anomaly })
	}
	partial := !cfg.Contract.Complete
	legit := func(o shrinkOp) bool { return o.Op == "r" || o.Op == "range" }
	for changed := true; changed; {
		changed = false
		// whole keys
		keys := map[string]bool{}
		for _, r := range all {
			for _, o := range r.ops {
				var x shrinkOp
				json.Unmarshal(o, &x)
				keys[x.Key] = true
			}
		}
		for k := range keys {
			var next []shrinkRec
			n := 0
			for _, r := range all {
				c := shrinkRec{head: r.head}
				for _, o := range r.ops {
					var x shrinkOp
					json.Unmarshal(o, &x)
					if x.Key != k {
						c.ops = append(c.ops, o)
					} else {
						n++
					}
				}
				next = append(next, c)
			}
			if n > 0 && k != "unrelated" && fails(next) {
				all, changed = next, true
			}
		}
		// elements of sets and lists
		type elem struct{ key, value string }
		elems := map[elem]bool{}
		for _, r := range all {
			for _, o := range r.ops {
				var x struct {
					Op, Key string
					Value   json.RawMessage
				}
				json.Unmarshal(o, &x)
				if x.Op == "add" || x.Op == "remove" || x.Op == "append" {
					elems[elem{x.Key, string(x.Value)}] = true
				}
			}
		}
		for e := range elems {
			if e.key == "unrelated" {
				continue
			}
			var next []shrinkRec
			for _, r := range all {
				c := shrinkRec{head: r.head}
				for _, o := range r.ops {
					var x struct {
						Op, Key string
						Value   json.RawMessage
					}
					json.Unmarshal(o, &x)
					if x.Key == e.key {
						if string(x.Value) == e.value {
							continue
						}
						if x.Op == "r" {
							var vs, keep []json.RawMessage
							json.Unmarshal(x.Value, &vs)
							for _, v := range vs {
								if string(v) != e.value {
									keep = append(keep, v)
								}
							}
							if keep == nil {
								keep = []json.RawMessage{}
							}
							kb, _ := json.Marshal(keep)
							o = []byte(strings.Replace(string(o), `"value":`+string(x.Value), `"value":`+string(kb), 1))
						}
					}
					c.ops = append(c.ops, o)
				}
				next = append(next, c)
			}
			if fails(next) {
				all, changed = next, true
			}
		}
		// chunks of records that are only reads, empty or aborted; any where the capture is partial
		for size := len(all) / 2; size > 0; size /= 2 {
			for i := 0; i+size <= len(all); {
				ok := true
				for _, r := range all[i : i+size] {
					if partial && os.Getenv("ISOWATCH_SHRINK") == "any" {
						continue
					}
					for _, o := range r.ops {
						var x shrinkOp
						json.Unmarshal(o, &x)
						if !legit(x) && x.Key != "unrelated" && string(r.head["status"]) != `"aborted"` {
							ok = false
						}
					}
				}
				if ok {
					next := append(append([]shrinkRec{}, all[:i]...), all[i+size:]...)
					if fails(next) {
						all, changed = next, true
						continue
					}
				}
				i += size
			}
		}
		for i := range all {
			for j := 0; j < len(all[i].ops); {
				var x shrinkOp
				json.Unmarshal(all[i].ops[j], &x)
				if legit(x) {
					c := all[i]
					c.ops = append(append([]json.RawMessage{}, c.ops[:j]...), c.ops[j+1:]...)
					next := append([]shrinkRec{}, all...)
					next[i] = c
					if fails(next) {
						all, changed = next, true
						continue
					}
				}
				j++
			}
		}
	}
	fmt.Println("SHRUNK", len(all))
	unrelated := 0
	for _, r := range all {
		s := string(r.text())
		if strings.Contains(s, "unrelated") {
			if unrelated++; unrelated > 1 {
				continue
			}
		}
		fmt.Println(s)
	}
	fmt.Println("unrelated", unrelated)
	var b [][]byte
	for _, r := range all {
		b = append(b, r.text())
	}
	for _, f := range accusations(t, cfg, b) {
		fmt.Println(f.State, f.Kind, f.Anomaly, f.Certain, f.RestsOn, f.Explanation)
	}
}
