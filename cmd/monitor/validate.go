package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/whole"
)

func validateCommand(t *terminal) *cobra.Command {
	output, schema := "text", false
	c := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check records against the format, and show what they can reveal",
		Long: "Validate reads files of records, one JSON object on each line. It shows which records are invalid, and where. It\n" +
			"warns of likely mistakes, such as times in seconds and misspelt fields. It also shows which anomalies the records\n" +
			"cannot show, even if the database has them. FILE - is standard input.\n\n" +
			"Exit codes: 0 all records are valid, 1 one is not, or a file has none.\n" +
			"130 interrupted. 254 wrong usage, or a file that cannot be read.",
		Args: func(c *cobra.Command, args []string) error {
			if schema && len(args) > 0 {
				return usagef("--schema prints the schema and reads no file: leave out %q", printable(args[0]))
			} else if schema {
				return nil
			}
			return arguments(1, -1)(c, args)
		},
		RunE: func(c *cobra.Command, files []string) error {
			if schema {
				_, err := fmt.Fprint(t.stdout, event.Schema)
				return err
			}
			p := newProgress(t, files)
			return p.while(c.Context(), func() error { return validateFiles(t, files, output, p.tell) })
		},
	}
	c.Flags().VarP(choiceValue{&output, []string{"text", "jsonl"}}, "output", "o", "form of the output")
	c.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema of a record instead")
	return c
}

func validateFiles(t *terminal, files []string, output string, tell func(bytes int)) error {
	invalid, unreadable := false, false
	table := summary{{"file", "records", "valid", "invalid", "transactions", "operations"}}
	for _, file := range files {
		s, err := whole.SurveyFile(file, t.stdin, tell)
		switch {
		case err != nil:
			unreadable = true
			table.add(printable(file), "-", "-", "-", "-", "cannot be read")
			err = tellUnreadable(t, file, output, err)
		case output == "jsonl":
			invalid = invalid || s.Invalid > 0 || s.Records == 0
			err = json.NewEncoder(t.stdout).Encode(s)
		default:
			invalid = invalid || s.Invalid > 0 || s.Records == 0
			table.add(printable(file), fmt.Sprint(s.Records), fmt.Sprint(s.Records-s.Invalid), fmt.Sprint(s.Invalid), fmt.Sprint(s.Transactions), fmt.Sprint(s.Operations))
			_, err = t.stdout.Write(appendSurvey(nil, s))
		}
		if err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
	}
	if output == "text" {
		if _, err := t.stdout.Write(table.append(nil)); err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
	}
	switch {
	case unreadable:
		return exitError{exitUsage}
	case invalid:
		return exitError{exitViolated}
	}
	return nil
}

func appendSurvey(dst []byte, s *whole.Survey) []byte {
	h := &s.Held
	dst = fmt.Appendf(dst, "%s: %s, %d invalid; %s (%d committed, %d aborted, %d unknown), %s\n",
		printable(s.File), whole.Plural(s.Records, "record", "records"), s.Invalid, whole.Plural(s.Transactions, "transaction", "transactions"),
		h.Committed, h.Aborted, h.Unknown, whole.Plural(s.Operations, "operation", "operations"))
	shown := s.Faults[:min(len(s.Faults), whole.MaxDeadLetters)]
	for _, f := range shown {
		dst = fmt.Appendf(dst, "  invalid  %s: %s\n", printable(f.Position), printable(f.Reason))
	}
	if more := s.Invalid - int64(len(shown)); more > 0 {
		dst = fmt.Appendf(dst, "  invalid  %d more\n", more)
	}
	for _, d := range s.Doubts {
		dst = fmt.Appendf(dst, "  warning  %s: %s", printable(d.Position), printable(d.Text))
		if d.Records > 1 {
			dst = fmt.Appendf(dst, " (%d records)", d.Records)
		}
		dst = append(dst, '\n')
	}
	if len(s.Limits) == 0 {
		dst = fmt.Appendf(dst, "Nothing is missing that this version could use.\n")
	} else {
		dst = fmt.Appendf(dst, "What these records cannot reveal:\n")
	}
	for _, l := range s.Limits {
		dst = fmt.Appendf(dst, "  - %s: %s.", l.Cannot, l.Because)
		if l.Remedy != "" {
			dst = fmt.Appendf(dst, " To change that, %s.", l.Remedy)
		}
		dst = append(dst, '\n')
	}
	return append(dst, '\n')
}
