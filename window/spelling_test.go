package window

import (
	"reflect"
	"testing"
)

func TestSpelled(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"1.50", "1.5", true}, {"150e-2", "1.5", true}, {"0.05", "5E-2", true}, {"-0", "0.0", true}, {"1e3", "1000", true},
		{"-1.5", "1.5", false}, {"1.05", "1.5", false}, {"15", "1.5", false}, {"9007199254740993", "9007199254740992", false},
		{`{"a":1,"b":[2.0]}`, `{"b":[2],"a":1.0}`, true}, {`{"a":1}`, `{"a":2}`, false}, {`[1,2]`, `[2,1]`, false},
		{"1e99999999999999999999", "1e99999999999999999999", true},
	} {
		a, read := spelled(c.a)
		b, written := spelled(c.b)
		if !read || !written || reflect.DeepEqual(a, b) != c.same {
			t.Errorf("%s and %s: %v and %v", c.a, c.b, a, b)
		}
	}
	for _, text := range []string{`"1.5"`, "true", "null", "", "{"} {
		if v, ok := spelled(text); ok {
			t.Errorf("%s: %v", text, v)
		}
	}
}
