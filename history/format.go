package history

import (
	"fmt"
	"slices"
)

// Format is the form of a file, by its name on the command line.
type Format string

// The formats. JSONL and Proto belong to package event, and are not read here.
const (
	JSONL      Format = "jsonl"
	Proto      Format = "proto"
	EDN        Format = "edn"
	ElleJSON   Format = "elle-json"
	DBCop      Format = "dbcop"
	DBCopJSON  Format = "dbcop-json"
	PolySI     Format = "polysi"
	Cobra      Format = "cobra"
	AWDIT      Format = "awdit"
	Viper      Format = "viper"
	Porcupine  Format = "porcupine"
	TimeKiller Format = "timekiller"
)

// Formats are all of them, in the order in which they are documented.
func Formats() []Format {
	return []Format{
		JSONL, Proto, EDN, ElleJSON, DBCop, DBCopJSON, PolySI, Cobra, AWDIT, Viper, Porcupine, TimeKiller,
	}
}

// IsFolder says whether a history of this format is a folder of files.
func (f Format) IsFolder() bool { return f == Cobra || f == Viper }

// ParseFormat finds the format called name.
func ParseFormat(name string) (Format, error) {
	if f := Format(name); slices.Contains(Formats(), f) {
		return f, nil
	}
	return "", fmt.Errorf("no format is called %q", name)
}

// Fault is an error in a file with its place: a byte from 0, or a line from 1.
type Fault struct {
	File   string // within a folder; "" otherwise
	Unit   string // "byte" or "line"
	At     int64
	Reason string
}

func (f *Fault) Error() string {
	text := fmt.Sprintf("%s %d: %s", f.Unit, f.At, f.Reason)
	if f.File != "" {
		return f.File + ": " + text
	}
	return text
}

func atByte(at int, format string, args ...any) error {
	return &Fault{Unit: "byte", At: int64(at), Reason: fmt.Sprintf(format, args...)}
}

func atLine(at int64, format string, args ...any) error {
	return &Fault{Unit: "line", At: at, Reason: fmt.Sprintf(format, args...)}
}
