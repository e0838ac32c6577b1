package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Fault is one thing that is wrong with a configuration.
type Fault struct {
	Path string // of the key: "sources[1].window"; "": the whole
	Text string // names the key and the value
	Name string // of the file; "": it was read from none
	Line int    // from 1; 0: not known
}

func (f *Fault) Error() string {
	switch {
	case f.Name == "":
		return f.Text
	case f.Line == 0:
		return f.Name + ": " + f.Text
	}
	return f.Name + ":" + strconv.Itoa(f.Line) + ": " + f.Text
}

// faults collects what is wrong.
type faults []error

func (f *faults) add(path, format string, args ...any) {
	*f = append(*f, &Fault{Path: path, Text: fmt.Sprintf(format, args...)})
}

// each adds what the form of some of the values of a key is, if wrong.
func (f *faults) each(part, key string, values []string, wrong func(string) error) {
	for _, v := range values {
		if err := wrong(v); err != nil {
			f.add(join(part, key), "%s: %v", key, err)
		}
	}
}

// in puts what is wrong with a part under the part's path, and name before its
// text: there may be several of the kind.
func (f *faults) in(path, name string, err error) {
	for _, x := range Faults(err) {
		y := *x
		y.Path = join(path, x.Path)
		if name != "" {
			y.Text = name + ": " + x.Text
		}
		*f = append(*f, &y)
	}
}

func (f faults) err() error { return errors.Join(f...) }

func join(path, key string) string {
	switch {
	case path == "" || key == "":
		return path + key
	case key[0] == '[':
		return path + key
	}
	return path + "." + key
}

func at(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// Faults are the single faults that err joins, in their order. Another
// error becomes a fault without a place.
func Faults(err error) []*Fault {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*Fault
		for _, e := range joined.Unwrap() {
			all = append(all, Faults(e)...)
		}
		return all
	}
	var f *Fault
	if errors.As(err, &f) {
		return []*Fault{f}
	}
	return []*Fault{{Text: err.Error()}}
}

// parent is the path of what holds path.
func parent(path string) string {
	if i := strings.LastIndexAny(path, ".["); i >= 0 {
		return path[:i]
	}
	return ""
}
