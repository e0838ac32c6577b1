package isowatch_test

import (
	"testing"

	"github.com/isowatch/isowatch/internal/prose"
)

// TestProseOfComments holds the comments of the program to the same rules as the documents.
func TestProseOfComments(t *testing.T) {
	n := 0
	err := eachFileNamed(isProgram, func(name string, file []byte) {
		texts, err := prose.GoComments(name, file)
		if err != nil {
			t.Fatal(err)
		}
		n += len(texts)
		for _, text := range texts {
			for _, fault := range prose.Faults(text.Text) {
				t.Errorf("%s:%d: %s", name, text.Line, fault)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	} else if n < 5000 {
		t.Errorf("only %d comments were found", n)
	}
}
