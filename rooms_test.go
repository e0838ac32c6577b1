package isowatch_test

import (
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// ofEach are verbs that several rooms have. They are called by the room, as in s.Sets.Memory().
var ofEach = []string{"AppendState", "ReadState", "Memory"}

// TestNothingIsHidden: no room of inference has an exported field or method with the name of one below it, except
// the verbs. A call above would mean another one than it did.
func TestNothingIsHidden(t *testing.T) {
	pkg, err := exportsOf(t, "internal/infer").Import(module + "/internal/infer")
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]string{} // the rooms that have the name, by name
	seen := map[*types.Named]bool{}
	for _, fault := range hidden(pkg.Scope().Lookup("State").Type(), nil, at, seen) {
		t.Error(fault)
	}
	if len(seen) < 10 || len(at) < 500 {
		t.Errorf("%d names of %d rooms were seen", len(at), len(seen))
	}
}

// hidden lists the exported names of the room that a room in above has too, and so on with the rooms that it
// embeds.
func hidden(room types.Type, above []map[string]types.Type, names map[string]string, seen map[*types.Named]bool) (faults []string) {
	named, ok := room.(*types.Named)
	if !ok {
		return nil
	}
	fields, ok := named.Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	seen[named] = true
	mine := map[string]types.Type{} // of what is embedded, its type
	for i := range named.NumMethods() {
		mine[named.Method(i).Name()] = nil
	}
	for i := range fields.NumFields() {
		mine[fields.Field(i).Name()] = embedded(fields.Field(i))
	}
	for name := range mine {
		names[name] = named.Obj().Name()
		if !ast.IsExported(name) || slices.Contains(ofEach, name) {
			continue
		}
		for _, of := range above {
			// Kinds are over one room, which each of them names.
			if is, has := of[name]; has && (is == nil || is != mine[name]) {
				faults = append(faults, fmt.Sprintf("%s.%s is hidden by a room or kind above", named.Obj().Name(), name))
			}
		}
	}
	below := append(slices.Clone(above), mine)
	for i := range fields.NumFields() {
		if of := embedded(fields.Field(i)); of != nil {
			faults = append(faults, hidden(of, below, names, seen)...)
		}
	}
	slices.Sort(faults)
	return slices.Compact(faults)
}

// embedded is the type that the field embeds, nil if it embeds none.
func embedded(f *types.Var) types.Type {
	if !f.Embedded() {
		return nil
	}
	if pointer, ok := f.Type().(*types.Pointer); ok {
		return pointer.Elem()
	}
	return f.Type()
}

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
