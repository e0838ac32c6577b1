package history

import (
	"fmt"
	"io"
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

// form is all that is said of a format, beside what recognises its files ([Detect]).
type form struct {
	name Format
	// read reads a file, where the format is one of this package and of files.
	read func(r *Reader, data []byte) error
	// pieces reads one piece by piece.
	pieces func(r *Reader, in io.Reader) error
	// names are the names of its files where a history is a folder. session reads one file.
	names   nameForm
	session func(p *plain, data []byte, session uint32) error
}

// forms are in the order in which they are documented, and in which folders are recognised.
var forms = []form{
	{name: JSONL},
	{name: Proto},
	{name: EDN, pieces: func(r *Reader, in io.Reader) error { return r.readElle(in, false) }},
	{name: ElleJSON, pieces: func(r *Reader, in io.Reader) error { return r.readElle(in, true) }},
	{name: DBCop, read: plainly(func(p *plain, data []byte) error {
		p.ops = make([]plainOp, 0, len(data)/dbcopEvent)
		return p.readDBCop(&bincode{data: data, size: len(data)})
	})},
	{name: DBCopJSON, read: plainly((*plain).readDBCopJSON)},
	{name: PolySI, read: plainly(func(p *plain, data []byte) error { return p.readPolySI(linesOf(p, data)) })},
	{name: Cobra, names: cobraNames, session: (*plain).cobraFile},
	{name: AWDIT, read: plainly(func(p *plain, data []byte) error { return p.readAWDIT(linesOf(p, data)) })},
	{name: Viper, names: viperNames, session: (*plain).viperFile, read: plainly(func(p *plain, data []byte) error { return p.viperFile(data, 0) })},
	{name: Porcupine, read: (*Reader).readPorcupine},
	{name: TimeKiller, read: (*Reader).readTimeKiller},
}

// plainly reads a file of registers.
func plainly(read func(p *plain, data []byte) error) func(r *Reader, data []byte) error {
	return func(r *Reader, data []byte) error {
		p := plain{came: r.cameOf()}
		err := read(&p, data)
		return r.readPlain(&p, err)
	}
}

// formOf is the row of the format, nil if there is none.
func formOf(f Format) *form {
	if i := slices.IndexFunc(forms, func(x form) bool { return x.name == f }); i >= 0 {
		return &forms[i]
	}
	return nil
}

// Formats are all of them, in the order in which they are documented.
func Formats() []Format {
	var all []Format
	for i := range forms {
		all = append(all, forms[i].name)
	}
	return all
}

// IsFolder says whether a history of this format is a folder of files.
func (f Format) IsFolder() bool {
	x := formOf(f)
	return x != nil && x.session != nil
}

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
