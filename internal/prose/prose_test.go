package prose

import (
	"slices"
	"strings"
	"testing"
)

// TestFaultsAreSeen: the check itself can fail.
func TestFaultsAreSeen(t *testing.T) {
	many := strings.Repeat("word ", MaxWords)
	for page, want := range map[string]int{
		many + "end.":                      1,
		many + "end. " + many + "end.":     2,
		many + "\n\nend.":                  0,
		"```\n" + many + "end.\n```\n":     0,
		"```\nx: 1 # " + many + "end\n```": 1,
		many + "`code`":                    0,
		"Names: " + many + "end.":          0,

		"Of pieces whose begin is late, one is lost.":            1,
		"Of returns the open transaction.":                       0,
		"One is late. Of the rest nothing is known.":             1,
		"What is late becomes a gap.":                            1,
		"What is late?":                                          0,
		"| It ends: Who waits is lost |":                         1,
		"It comes after who wrote it.":                           1,
		"two transactions of which one ended":                    1,
		"Size is what the record takes.":                         1,
		"Is this what the record takes?":                         0,
		"What it holds is that of the record":                    2,
		"Its lateness is that of the source.":                    1,
		"None of them is a record.":                              1,
		"The log says so.":                                       1,
		"It is the broker that waits.":                           1,
		"as long as it is not read":                              1,
		"as long as it is read":                                  0,
		"It is of no use without a file.":                        1,
		"declare deletes=no where they do not come back":         0,
		"It holds no text, nor a number.":                        1,
		"It is neither a text nor a number.":                     0,
		"The folder is made anew.":                               1,
		"It is no list.":                                         1,
		"There is no list, and it is no longer known.":           0,
		"It is late; it is lost; it is gone.":                    1,
		"how long it is kept; 0: for ever; port 0: any; off: no": 0,
	} {
		if got := Faults(page); len(got) != want {
			t.Errorf("%q: %q, want %d", page, got, want)
		}
	}
}

// TestComments: lines that follow each other are one text, and examples of settings are none.
func TestComments(t *testing.T) {
	got := Comments("#!/bin/sh\n# One thing,\n# and more.\n#   example: 1\na: 1 # behind\n# Another.\nb: \"x#y\"\n")
	if want := []string{"One thing, and more.", "behind", "Another."}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAnnotations(t *testing.T) {
	got := Annotations("      annotations:\n        summary: '{{ $labels.source }}: late'\n        description: 'It waits.'\n")
	if want := []string{" CODE: late", "It waits."}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPage(t *testing.T) {
	got := strings.Fields(Page(`{{if .X}}<p class="a">One <b>thing</b></p>{{end}}<td>Two</td>`))
	if want := []string{"CODE", "One", "thing", "CODE", "Two"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLiterals: what reads like a sentence is found, put together, and nothing else.
func TestLiterals(t *testing.T) {
	got, err := Literals("a.go", []byte(`package a

import "path/of/many words in it"

const short = "two words"

var query = "SELECT one FROM two WHERE three = 4"

func f(name string) error {
	return errors.New("the file " + name + " is read twice by %d of " +
		"the inputs")
}
`))
	if err != nil || len(got) != 1 {
		t.Fatalf("%+v %v, want one", got, err)
	}
	if want := (Literal{10, "the file CODE is read twice by CODE of the inputs"}); got[0] != want {
		t.Errorf("%+v, want %+v", got[0], want)
	}
}

// TestGoComments: runs of comment lines are texts, without code and directives, and names of the
// program are not words.
func TestGoComments(t *testing.T) {
	got, err := GoComments("a.go", []byte(`// Package a does one thing,
// and more, by [Do] and doIt.
//
//	a.Do() // an example
//
// It has
//   - items that go on
//     in the next line
package a

//go:generate something

var x = 1 // of those in a_b

/* A block. */
`))
	if err != nil || len(got) != 3 {
		t.Fatalf("%+v %v, want three", got, err)
	}
	for i, want := range []Literal{
		{1, "Package a does one thing,\nand more, by CODE and CODE.\n\n\n\nIt has\n- items that go on\n    in the next line\n"},
		{13, "of those in CODE\n"},
		{15, "A block. \n"},
	} {
		if got[i] != want {
			t.Errorf("%+v, want %+v", got[i], want)
		}
	}
}
