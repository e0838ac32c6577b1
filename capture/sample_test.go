package capture

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/whole"
)

// check asks `monitor check` of lines, under the strongest contract.
func check(t testing.TB, lines string) *whole.Report {
	t.Helper()
	w := whole.Whole{Watch: config.DefaultWatch(config.WholeContract()), Stdin: strings.NewReader(lines)}
	report, err := w.CheckFile("-")
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// table is a database that runs one transaction after the other.
type table struct {
	rng    *rand.Rand
	rows   map[string]int
	values int // so far: each is written once
}

// transaction runs a random one.
func (x *table) transaction(t *Txn) {
	before := maps.Clone(x.rows)
	for range 1 + x.rng.IntN(4) {
		key := fmt.Sprintf("row/%02d", x.rng.IntN(20))
		v, found := x.rows[key]
		switch x.rng.IntN(4) {
		case 0:
			if found {
				t.Read(key, v)
			} else {
				t.ReadNothing(key)
			}
		case 1:
			x.values++
			if found {
				t.Write(key, x.values)
			} else {
				t.Insert(key, x.values)
			}
			x.rows[key] = x.values
		case 2:
			if found {
				t.Delete(key)
				delete(x.rows, key)
			}
		case 3:
			s := Scan{From: key, Desc: x.rng.IntN(2) == 0, Limit: x.rng.IntN(5)}
			if x.rng.IntN(2) == 0 {
				s.To = key + "~"
				s.From = ""
			}
			t.Range(s, x.scan(s))
		}
	}
	if x.rng.IntN(8) == 0 {
		x.rows = before
		t.End(Aborted)
		return
	}
	t.End(Committed)
}

func (x *table) scan(s Scan) (rows []Row) {
	for _, key := range slices.Sorted(maps.Keys(x.rows)) {
		if key >= s.From && (s.To == "" || key < s.To) {
			rows = append(rows, Row{Key: key, Value: x.rows[key]})
		}
	}
	if s.Desc {
		slices.Reverse(rows)
	}
	if s.Limit > 0 && len(rows) > s.Limit {
		rows = rows[:s.Limit]
	}
	return rows
}

// A serial history stays one when keys are left out, hashed values and ranges with a
// limit included.
func TestSampledAndHashedHistoriesHold(t *testing.T) {
	key := WithKey([]byte("0123456789abcdef"))
	for name, opts := range map[string][]Option{
		"all":              {key},
		"one in two":       {key, WithSampling(2)},
		"one in five":      {key, WithSampling(5)},
		"by group":         {key, WithSamplingBy(3, func(key string) string { return key[:len(key)-1] })},
		"hashed keys":      {key, WithHashedKeys()},
		"plain":            {WithPlainValues()},
		"hashed, sampled":  {key, WithHashedKeys(), WithSampling(3)},
		"plain, in sample": {WithPlainValues(), WithSampling(3)},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(30) {
				x := table{rng: rand.New(rand.NewPCG(seed, 1)), rows: map[string]int{}}
				var stats Stats
				lines := recorded(t, func(r *Recorder) {
					sessions := []*Session{r.Session("a"), r.Session("b"), nil}
					for range 60 {
						x.transaction(r.Begin(Begin{Session: sessions[x.rng.IntN(3)]}))
					}
					stats = r.Stats()
				}, opts...)
				report := check(t, lines)
				for level, verdict := range report.Verdicts {
					if verdict == "violated" {
						t.Fatalf("seed %d: %s is %s: %v\n%s", seed, level, verdict, report.Findings[0].Explanation, lines)
					}
				}
				if got := report.Verdicts["serializable"]; got != "ok" {
					t.Errorf("seed %d: serializable is %s: %s", seed, got, report.Reasons["serializable"])
				}
				if report.Counters.Gaps != 0 || report.Counters.DeadLetters != 0 || stats.Open != 0 || stats.Recorded+stats.Unsampled != 60 {
					t.Errorf("seed %d: %+v, %+v", seed, report.Counters, stats)
				}
			}
		})
	}
}

// writeSkew records two transactions that each read both keys and write one.
func writeSkew(r *Recorder, x, y string) {
	setup := r.Begin(Begin{})
	setup.Write(x, 1)
	setup.Write(y, 2)
	setup.End(Committed)
	a, b := r.Begin(Begin{}), r.Begin(Begin{})
	for _, t := range []*Txn{a, b} {
		t.Read(x, 1)
		t.Read(y, 2)
	}
	a.Write(x, 3)
	b.Write(y, 4)
	a.End(Committed)
	b.End(Committed)
}

// What crosses two keys is found where both are in the sample: a group keeps them together.
func TestSamplingFinds(t *testing.T) {
	byCustomer := func(key string) string { return strings.Split(key, "/")[1] }
	violated, left := 0, 0
	for customer := range 20 {
		x, y := fmt.Sprintf("cart/%d", customer), fmt.Sprintf("credit/%d", customer)
		lines := recorded(t, func(r *Recorder) { writeSkew(r, x, y) }, WithPlainValues(), WithSamplingBy(4, byCustomer))
		switch n := strings.Count(lines, "\n"); n {
		case 0:
			left++
		case 3:
			if check(t, lines).Verdicts["serializable"] == "violated" {
				violated++
			}
		default:
			t.Errorf("customer %d: %d records", customer, n)
		}
	}
	if violated == 0 || left == 0 || violated+left != 20 {
		t.Errorf("of 20 write skews %d were found, and %d left out", violated, left)
	}
}

// The sample is the same in every program that reads docs/capture.md.
func TestSample(t *testing.T) {
	o := Options{OneIn: 10}
	in := 0
	for i := range 10_000 {
		if o.samples(fmt.Sprintf("accounts/%d", i)) {
			in++
		}
	}
	if in < 900 || in > 1100 {
		t.Errorf("%d of 10000 keys are in a sample of one in ten", in)
	}
	// python3 -c 'import zlib; print([i for i in range(20) if zlib.crc32(b"accounts/%d" % i) % 10 == 0])'
	var got []int
	for i := range 20 {
		if o.samples(fmt.Sprintf("accounts/%d", i)) {
			got = append(got, i)
		}
	}
	if want := []int{17}; !slices.Equal(got, want) {
		t.Errorf("in the sample: %v, want %v", got, want)
	}
}
