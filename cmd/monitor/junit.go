package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/isowatch/isowatch/internal/whole"
	"github.com/isowatch/isowatch/isolation"
	"github.com/isowatch/isowatch/window"
)

// The form of JUnit, as CI servers read it: a suite, with a case for each file and level. A level that
// is violated is a failure, one that is unknown is skipped, a file that cannot be read is an error.
type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
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
		Text    string `xml:",chardata"`
	}
)

// add tells of a file that was checked.
func (s *junitSuite) add(r *whole.Report) {
	for _, l := range isolation.AllLevels() {
		verdict, asked := r.Verdicts[l.String()]
		if !asked {
			continue
		}
		c := junitCase{Class: printable(r.File), Name: l.String()}
		switch verdict {
		case window.Violated:
			c.Failure = &junitFault{Message: refuting(r, l), Text: string(whole.AppendReport(nil, r, false))}
			s.Failures++
		case window.Unknown:
			c.Skipped = &junitFault{Message: r.Reasons[l.String()]}
			s.Skipped++
		}
		s.Cases = append(s.Cases, c)
		s.Tests++
	}
}

// unreadable tells of a file that was not.
func (s *junitSuite) unreadable(file string, fault error) {
	s.Cases = append(s.Cases, junitCase{Class: printable(file), Name: "read", Error: &junitFault{Message: printable(fault.Error())}})
	s.Tests++
	s.Errors++
}

// refuting are the headlines of the first findings that refute the level, three at most.
func refuting(r *whole.Report, l isolation.Level) string {
	var lines []string
	for i := range r.Findings {
		f := &r.Findings[i]
		for _, name := range f.Refutes {
			if weakest, err := isolation.ParseLevel(name); err == nil && l.Implies(weakest) && len(lines) < 3 {
				lines = append(lines, printable(fmt.Sprintf("%s: %s", f.Anomaly, f.Headline)))
				break
			}
		}
	}
	return strings.Join(lines, " ")
}

func (s *junitSuite) write(w io.Writer) error {
	s.Name = "monitor check"
	text, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}
