package main

import (
	"bufio"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/isowatch/isowatch/history"
	"github.com/isowatch/isowatch/internal/app"
	"github.com/isowatch/isowatch/internal/whole"
)

func convertCommand(t *terminal) *cobra.Command {
	convert := whole.Convert{Stdin: t.stdin}
	to := "jsonl"
	var names []string
	for _, f := range history.Writable() {
		names = append(names, string(f))
	}
	c := &cobra.Command{
		Use:   "convert FILE",
		Short: "Write a recorded history in another format",
		Long: "Convert reads a history in any format that check reads. It writes it to standard output in another format\n" +
			"for other checkers. FILE - is standard input.\n\n" +
			"jsonl holds everything. edn holds lists and registers. polysi and dbcop hold registers, with numbers for keys and\n" +
			"values. They have no unknown outcome: such a transaction becomes committed if its writes were read, else aborted.\n\n" +
			"Exit codes: 0 all is written, 1 records that could not be read are left out. 130 interrupted.\n" +
			"254 wrong usage, a file that cannot be read, or a history that the format cannot hold. 255 internal error.",
		Args: arguments(1, 1),
		RunE: func(c *cobra.Command, files []string) error {
			convert.To = history.Format(to)
			p := newProgress(t, files)
			convert.Tell, convert.Doing = p.tell, p.doing
			return p.while(c.Context(), func() error { return convertFile(t, &convert, files[0]) })
		},
	}
	f := c.Flags()
	f.Var(formatValue{&convert.From}, "format", formatUsage("format of the file"))
	f.Var(choiceValue{&to, names}, "to", "format to write")
	return c
}

func convertFile(t *terminal, convert *whole.Convert, file string) error {
	told := 0
	convert.BadRecord = func(position, reason string) {
		if told++; told <= whole.MaxDeadLetters {
			t.say("monitor: bad record at %s: %s", printable(position), printable(reason))
		}
	}
	out := bufio.NewWriter(t.stdout)
	answer, err := convert.File(file, out)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", app.ErrInput, printable(file), err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	tellConverted(t, printable(file), convert, answer)
	if answer.Contract != "" {
		t.say("monitor: the written form does not hold the contract of the format %s: check it with --contract %s", answer.Format, answer.Contract)
	}
	if answer.Bad > 0 {
		return exitError{exitViolated}
	}
	return nil
}

// tellConverted says what was read, what was written, and what is left out.
func tellConverted(t *terminal, file string, convert *whole.Convert, answer *whole.Converted) {
	if more := answer.Bad - whole.MaxDeadLetters; more > 0 {
		t.say("monitor: %d more bad records in %s", more, file)
	}
	if _, ok := t.stderr.(jsonLines); ok {
		t.say("%s of %s, in the format %s, written as %s; %s left out", whole.Plural(int64(answer.Transactions), "transaction", "transactions"),
			file, answer.Format, convert.To, whole.Plural(int64(answer.Bad), "bad record", "bad records"))
		return
	}
	table := summary{{"file", "format", "bad records, left out", "transactions, written", "as"}}
	table.add(file, string(answer.Format), fmt.Sprint(answer.Bad), fmt.Sprint(answer.Transactions), string(convert.To))
	fmt.Fprintf(t.stderr, "%s", table.append(nil))
}
