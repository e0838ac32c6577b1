package isowatch_test

import (
	"go/ast"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// roomsOf are the packages whose state consists of rooms (docs/design.md), with the rooms, lowest first.
var roomsOf = map[string][]string{
	"internal/infer":        {"kinds", "memory", "State"},
	"internal/infer/causes": {"Absences", "Causes"},
	"window":                {"core", "clock", "asking", "levelChanges", "saturated", "reports", "finder", "choices", "linearizing", "sums", "timing", "Machine"},
}

// TestRooms: a file holds the methods of one room, but for those in testdata/rooms. The list may only
// become shorter: a file that is not there, or a room that is not in its line, is an error.
func TestRooms(t *testing.T) {
	text, err := os.ReadFile("testdata/rooms")
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if name, rooms, ok := strings.Cut(line, ":"); ok && line[0] != '#' {
			allowed[name] = strings.Fields(rooms)
		}
	}
	held, methods := map[string][]string{}, map[string]int{}
	err = eachFile(func(dir, name string, _ int, f *ast.File) {
		if roomsOf[dir] == nil || strings.HasSuffix(name, "_test.go") {
			return
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !slices.Contains(roomsOf[dir], receiver(fn)) {
				continue
			}
			of := receiver(fn)
			methods[dir+"."+of]++
			if !slices.Contains(held[name], of) {
				held[name] = append(held[name], of)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, rooms := range roomsOf {
		for _, room := range rooms {
			if methods[dir+"."+room] == 0 {
				t.Errorf("%s has no room %s with methods", dir, room)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(held)) {
		slices.Sort(held[name])
		switch of := held[name]; {
		case allowed[name] == nil && len(of) > 1:
			t.Errorf("%s holds methods of the rooms %s: give each a file", name, strings.Join(of, " "))
		case allowed[name] == nil:
		case len(of) < 2:
			t.Errorf("%s holds methods of one room: take it out of testdata/rooms", name)
		default:
			for _, room := range of {
				if !slices.Contains(allowed[name], room) {
					t.Errorf("%s holds a method of the room %s, which testdata/rooms does not allow it", name, room)
				}
			}
			for _, room := range allowed[name] {
				if !slices.Contains(of, room) {
					t.Errorf("%s holds no method of the room %s: take it out of its line in testdata/rooms", name, room)
				}
			}
		}
	}
	for name := range allowed {
		if held[name] == nil {
			t.Errorf("testdata/rooms has %s, which holds no method of a room", name)
		}
	}
}
