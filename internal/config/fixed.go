package config

import (
	"reflect"
	"slices"
)

// Fixed are the keys in which next differs and that only a new start can change. Levels,
// windows and caps, sources without inputs, and sinks can change in a running service.
func (s *Service) Fixed(next *Service) []string {
	var keys []string
	for _, x := range []struct {
		key  string
		same bool
	}{
		{"data", s.Data == next.Data},
		{"replica", s.Replica == next.Replica},
		{"group", s.Group == next.Group},
		{"durability", s.Durability == next.Durability},
		{"min-free", s.MinFree == next.MinFree},
		{"memory", s.Memory == next.Memory},
		{"log", s.Log == next.Log},
		{"http", s.HTTP == next.HTTP},
		{"inputs", slices.EqualFunc(s.AllInputs(), next.AllInputs(), func(a, b PlacedInput) bool { return reflect.DeepEqual(a, b) })},
		{"embedded-nats", s.Embedded == next.Embedded},
		{"self-test", s.SelfTest == next.SelfTest},
		{"retention", s.Retention == next.Retention},
	} {
		if !x.same {
			keys = append(keys, x.key)
		}
	}
	return keys
}
