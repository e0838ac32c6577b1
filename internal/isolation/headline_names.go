package isolation

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
)

// mostNamed is how many transactions or keys a headline names, and longestID the bytes of an id in it.
const (
	mostNamed = 3
	longestID = 24
)

// headlineID is the i-th id for a headline, which stands without the list of short names. A
// long id keeps its beginning and its end, unless another one then looks the same.
func (w *witness) headlineID(i int) string {
	id := shortID(w.Txns[i].ID)
	for j := range w.Txns {
		if j != i && shortID(w.Txns[j].ID) == id {
			return w.Txns[i].ID
		}
	}
	return id
}

func shortID(id string) string {
	if len(id) <= longestID {
		return id
	}
	head, tail := longestID/2, len(id)-longestID/2+3
	for !utf8.RuneStart(id[head]) {
		head--
	}
	for tail < len(id) && !utf8.RuneStart(id[tail]) {
		tail++
	}
	return id[:head] + "..." + id[tail:]
}

// KeyName is keyName, for sentences that are made elsewhere.
func KeyName(key string) string { return keyName(key) }

// keyName is a key in a sentence, as operations have it. One of digits alone would read as a value.
func keyName(key string) string {
	if digits(key) {
		return "key " + key
	}
	return oneWord(key)
}

func digits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// keyList are keys in a sentence.
func keyList(keys []string) string {
	if len(keys) == 0 {
		return "any key"
	}
	shown := keys[:min(len(keys), mostNamed)]
	numbers := len(shown) > 1 && !slices.ContainsFunc(shown, func(k string) bool { return !digits(k) })
	var names []string
	for _, k := range shown {
		if !numbers {
			k = keyName(k)
		}
		names = append(names, k)
	}
	text := strings.Join(names, ", ")
	if numbers {
		text = "keys " + text
	}
	if left := len(keys) - len(shown); left > 0 {
		text += fmt.Sprintf(" and %s", finding.Counted(int64(left), "more key", "more keys"))
	}
	return text
}

// group are so many transactions in a sentence. The first ones are named, two at least.
func group(names []string, all int) string {
	if all = max(all, len(names)); all > mostNamed {
		return strings.Join(names[:mostNamed-1], ", ") + " and " + finding.Counted(int64(all-mostNamed+1), "other", "others")
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

func addName(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

// only is w as a cycle of these edges.
func (w *witness) only(edges []shownEdge) *witness {
	of := *w.Witness
	of.Edges, of.Choices = nil, nil
	for i := range edges {
		of.Edges = append(of.Edges, edges[i].Dependency)
	}
	v := *w
	v.Witness = &of
	return &v
}

// idsOf are the first who take part in the edges.
func idsOf(w *witness) (names []string) {
	for i := 0; i < len(w.Edges) && len(names) < mostNamed; i++ {
		names = addName(names, w.short(w.Edges[i].From))
	}
	return names
}

func whoOf(w *witness) string { return group(idsOf(w), 0) }

// readersOf are the first who missed something.
func readersOf(w *witness) (names []string) {
	for i := range w.Edges {
		if len(names) < mostNamed && w.Edges[i].Label&finding.RW != 0 {
			names = addName(names, w.short(w.Edges[i].From))
		}
	}
	return names
}

// groupFrom are those whom the finding is about, from the i-th on.
func (w *witness) groupFrom(i int) string {
	var names []string
	for j := i; j < min(w.members(), i+mostNamed); j++ {
		names = append(names, w.short(j))
	}
	return group(names, w.members()-i)
}

// keysOf are the keys of the cycle, each once.
func keysOf(w *witness) string {
	var keys []string
	for i := range w.Edges {
		if of := ofSet(&w.Edges[i]); of.Key != "" {
			keys = addName(keys, of.Key)
		}
	}
	return keyList(keys)
}

func keysOfChoices(w *witness) string {
	var keys []string
	for i := range w.Choices {
		keys = addName(keys, w.Choices[i].Key)
	}
	return keyList(keys)
}

// keysRead are the keys that the transactions read, those that several used before others. Where it is known which
// operations matter, they are the keys of these.
func keysRead(w *witness) (keys []string) {
	if len(w.Essential) > 0 {
		return essential(w)
	}
	by := map[string][]string{}
	for i := range w.Txns {
		for j := range w.Txns[i].Ops {
			o := &w.Txns[i].Ops[j]
			by[o.Key] = addName(by[o.Key], w.Txns[i].ID)
			if o.Kind == event.Read {
				keys = addName(keys, o.Key)
			}
			for _, row := range o.Rows {
				keys = addName(keys, row.Key)
			}
		}
	}
	slices.SortStableFunc(keys, func(a, b string) int { return len(by[b]) - len(by[a]) })
	return keys
}
