package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/internal/whole"
	"github.com/isowatch/isowatch/window"
)

// The form of JUnit, as CI servers read it: a suite, with a case for each file and level. A level that
// is violated is a failure. An unknown level is an error, as a test that could not be carried out: a
// green report beside exit code 2 would hide it. Bad records and a file that cannot be read are errors
// too. With --expect, the exit code is that level's: another one that does not hold is skipped.
type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
		Out      string      `xml:"system-out,omitempty"` // the reports, as text
	}
	junitCase struct {
		Class   string      `xml:"classname,attr"` // the file
		Name    string      `xml:"name,attr"`      // the level
		Failure *junitFault `xml:"failure"`
		Error   *junitFault `xml:"error"`
		Skipped *junitFault `xml:"skipped"`
	}
	junitFault struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"` // violated, unknown, bad records, unreadable
		Text    string `xml:",chardata"`
	}
)

// readCase is the name of the case about the file itself.
const readCase = "read"

// maxCited are the findings that a failing case cites.
const maxCited = 10

// add tells of a file that was checked.
func (s *junitSuite) add(r *whole.Report) {
	for _, l := range isolation.AllLevels() {
		verdict, asked := r.Verdicts[l.String()]
		if !asked {
			continue
		}
		c := junitCase{Class: printable(r.File), Name: l.String()}
		switch beside := r.Expect != "" && r.Expect != l.String(); {
		case verdict == window.OK:
		case beside:
			c.Skipped = &junitFault{Type: verdict, Message: verdict + "; " + r.Expect + " is expected, and decides"}
			s.Skipped++
		case verdict == window.Violated:
			c.Failure = violated(r, l)
			s.Failures++
		default:
			c.Error = &junitFault{Type: "unknown", Message: "unknown: no violation found, but " + printable(r.Reasons[l.String()]), Text: undecided(r, l)}
			s.Errors++
		}
		s.Cases = append(s.Cases, c)
		s.Tests++
	}
	s.Out += string(whole.AppendProofs(nil, r, false))
}

// bad tells of the records that could not be decoded.
func (s *junitSuite) bad(file string, records []whole.DeadLetter, n int) {
	if n == 0 {
		return
	}
	var b strings.Builder
	for _, d := range records {
		fmt.Fprintf(&b, "%s: %s\n", printable(d.Position), printable(d.Reason))
	}
	if more := n - len(records); more > 0 {
		fmt.Fprintf(&b, "%d more\n", more)
	}
	s.fault(file, &junitFault{Type: "bad records", Message: whole.Plural(int64(n), "bad record", "bad records"), Text: b.String()})
}

// unreadable tells of a file that could not be read.
func (s *junitSuite) unreadable(file string, fault error) {
	s.fault(file, &junitFault{Type: "unreadable", Message: "cannot be read: " + printable(reasonOf(fault))})
}

func (s *junitSuite) fault(file string, fault *junitFault) {
	s.Cases = append(s.Cases, junitCase{Class: printable(file), Name: readCase, Error: fault})
	s.Tests++
	s.Errors++
}

// violated cites what refutes the level: the first headline is the message.
func violated(r *whole.Report, l isolation.Level) *junitFault {
	found := r.Refuting(l)
	if len(found) == 0 {
		return &junitFault{Type: window.Violated, Message: "violated"}
	}
	var b strings.Builder
	for _, f := range found[:min(len(found), maxCited)] {
		fmt.Fprintf(&b, "finding %s  %s\n", printable(f.ID), cited(f))
	}
	if more := len(found) - maxCited; more > 0 {
		fmt.Fprintf(&b, "%s\n", whole.Plural(int64(more), "more finding", "more findings"))
	}
	message := cited(found[0])
	if more := len(found) - 1; more > 0 {
		message += fmt.Sprintf(" (and %s)", whole.Plural(int64(more), "more finding", "more findings"))
	}
	return &junitFault{Type: window.Violated, Message: message, Text: b.String()}
}

func cited(f *finding.Finding) string {
	return printable(fmt.Sprintf("%s: %s", f.Anomaly, f.Headline))
}

// undecided says for what the reads are not decided.
func undecided(r *whole.Report, l isolation.Level) string {
	var b strings.Builder
	for _, why := range r.Why[l.String()] {
		fmt.Fprintf(&b, "not decided: %s: %s\n", whole.Plural(why.Reads, "read", "reads"), printable(why.Text))
	}
	return b.String()
}

func (s *junitSuite) write(w io.Writer, command string) error {
	s.Name = command
	text, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}
