package window

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/infer"
)

// mostSpelled is how long a value may be that is compared with other spellings.
const mostSpelled = 4096

// spell looks for the value that nobody wrote: it may have been written in another spelling.
func (h *finder) spell(a *infer.Anomaly, w *finding.Witness) {
	if a.Kind != infer.GarbageRead || w.ByVersion || h.cfg.Hide != "" || len(w.Value) > mostSpelled {
		return
	}
	read, ok := spelled(w.Value)
	if !ok {
		return
	}
	w.Spelling = h.infer.Spelling(a.Version, &h.scratch, func(value string) bool {
		written, ok := spelled(value)
		return ok && len(value) <= mostSpelled && reflect.DeepEqual(read, written)
	})
}

// spelled is the number or object that JSON text spells. Texts and truth values have one spelling.
func spelled(text string) (v any, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil, false
	}
	switch v := v.(type) {
	case json.Number:
		return plainNumber(string(v)), true
	case map[string]any, []any:
		return plainNumbers(v), true
	}
	return nil, false
}

func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return plainNumber(string(v))
	case map[string]any:
		for k := range v {
			v[k] = plainNumbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	}
	return v
}

// decimal is 0.digits * 10^exponent, without zeros at the ends of the digits.
type decimal struct {
	minus    bool
	digits   string
	exponent int
}

func plainNumber(text string) any {
	whole, minus := strings.CutPrefix(text, "-")
	mantissa, exponent := whole, 0
	if i := strings.IndexAny(whole, "eE"); i >= 0 {
		n, err := strconv.Atoi(whole[i+1:])
		if err != nil {
			return text
		}
		mantissa, exponent = whole[:i], n
	}
	before, behind, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(before+behind, "0")
	exponent += len(before) - (len(before+behind) - len(digits))
	if digits = strings.TrimRight(digits, "0"); digits == "" {
		return decimal{}
	}
	return decimal{minus, digits, exponent}
}
