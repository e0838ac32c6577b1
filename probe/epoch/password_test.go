package epoch

import "testing"

func TestMask(t *testing.T) {
	for _, c := range []struct{ password, text, want string }{
		{"e", "the server refuses the user", "the server refuses the user"},
		{"e", "dial e:e@tcp(e:3306): refused", "dial e:xxxxx@tcp(e:3306): refused"},
		{"postgres", `password authentication failed for user "postgres"`, `password authentication failed for user "postgres"`},
		{"postgres", "cannot parse `postgres://postgres:postgres@h/postgres`", "cannot parse `postgres://postgres:xxxxx@h/postgres`"},
		{"a/b", "postgres://u:a%2Fb@h and u:a/b@h", "postgres://u:xxxxx@h and u:xxxxx@h"},
		{"a b", "user=u password='a b' host=h", "user=u password='xxxxx' host=h"},
		{"s.t", "host=h password=s.t", "host=h password=xxxxx"},
		{"s.t", "h?password=s.t&sslmode=require", "h?password=xxxxx&sslmode=require"},
		{"s.t", "h:sat@", "h:sat@"},
		{"", "u:@h", "u:@h"},
	} {
		if got := Mask(c.text, c.password); got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.password, c.text, got, c.want)
		}
	}
}
