package config

import "strings"

// Setting is a single value of a service, by its path in the file: what a flag or a
// variable of the environment can set.
type Setting struct {
	Path string
	leaf leaf
}

// Set reads text.
func (s Setting) Set(text string) error { return s.leaf.set(text) }

// String is the value as Set reads it.
func (s Setting) String() string {
	if s.leaf == nil {
		return ""
	}
	return s.leaf.String()
}

// Type names the form of the value.
func (s Setting) Type() string {
	switch l := s.leaf.(type) {
	case number:
		return "int"
	case truth:
		return "bool"
	case period:
		return "duration"
	case size, orAuto:
		return "SIZE"
	case oneOf:
		return strings.Join(l.values, "|")
	}
	return "string"
}

// Settings are the single values of the parts, in their order. Values of watch, and of
// lists, are not among them.
func (s *Service) Settings(parts ...string) []Setting {
	var all []Setting
	for _, f := range s.fields() {
		for _, part := range parts {
			if f.key == part {
				all = appendSettings(all, f.key, f.to)
			}
		}
	}
	return all
}

func appendSettings(all []Setting, path string, to any) []Setting {
	switch to := to.(type) {
	case leaf:
		return append(all, Setting{path, to})
	case tree:
		for _, f := range to.fields() {
			all = appendSettings(all, join(path, f.key), f.to)
		}
	}
	return all
}
