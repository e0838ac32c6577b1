package history

import (
	"bytes"

	"github.com/isowatch/isowatch/event"
)

// dbcop's newer JSON: {"params", "info", "start", "end", "data"}, or the data alone:
//
//	[[{"events": [{"Write": {"variable": 0, "version": 1}}, {"Read": {"variable": 0, "version": null}}], "committed": true}]]
//
// a list of sessions, each of transactions. A read without a version found the
// initial one. The names of the older form (write, value, success) are read as
// well; there 0 is the initial value.

type dbcopJSON struct {
	*plain
	jsonScanner
	sessions int64
	old      bool // an event of the older form was read
}

func (p *plain) readDBCopJSON(data []byte) error {
	d := dbcopJSON{plain: p}
	d.data = data
	d.fail = func(at int, what string) error { return atByte(at, "%s", what) }
	found := false
	var err error
	if d.space(); d.i < len(data) && data[d.i] == '[' {
		found, err = true, d.list(d.oneSession)
	} else {
		err = d.object(func(name []byte) error {
			if string(name) != "data" {
				return d.pass()
			}
			found = true
			return d.list(d.oneSession)
		})
	}
	switch {
	case err != nil:
		return err
	case d.i < len(data):
		return d.want("the end of the file is expected")
	case !found:
		return d.want("a history without \"data\"")
	}
	d.initialZero = d.old
	return nil
}

func (d *dbcopJSON) oneSession() error {
	d.sessions++
	session, id := d.session(d.sessions), int64(0)
	return d.list(func() error {
		id++
		return d.txn(session, id)
	})
}

func (d *dbcopJSON) txn(session uint32, id int64) error {
	d.space()
	at := d.i
	d.begin(session, id, int64(at), event.Aborted)
	said := false
	err := d.object(func(name []byte) error {
		switch string(name) {
		case "events":
			return d.list(d.event)
		case "committed", "success":
			ok, err := d.truth()
			if said = true; ok {
				d.txns[len(d.txns)-1].status = event.Committed
			}
			return err
		}
		return d.pass()
	})
	if err == nil && !said {
		err = d.want("a transaction without \"committed\"")
	}
	if err == nil {
		d.tell(bytes.TrimRight(d.data[at:d.i], " \t\r\n"))
	}
	d.end()
	return err
}

// event reads {"Write": {...}}, {"Read": {...}}, or the older form.
func (d *dbcopJSON) event() error {
	var o plainOp
	fields, success := 0, true
	field := func(name []byte) (err error) {
		var none bool
		switch string(name) {
		case "variable":
			o.key, none, err = d.integer()
			if fields |= 1; err == nil && none {
				err = d.want("a variable is null")
			}
		case "version", "value":
			o.value, none, err = d.integer()
			if fields |= 2; none {
				o.flags |= initial
			}
		default:
			err = d.pass()
		}
		return err
	}
	err := d.object(func(name []byte) (err error) {
		switch string(name) {
		case "Write":
			o.flags |= isWrite
			fallthrough
		case "Read":
			fields |= 4
			return d.object(field)
		case "write":
			d.old = true
			write, err := d.truth()
			if fields |= 4; write {
				o.flags |= isWrite
			}
			return err
		case "success":
			success, err = d.truth()
			return err
		}
		return field(name)
	})
	switch {
	case err != nil:
		return err
	case fields != 7:
		return d.want("an event without operation, variable or version")
	case o.flags == isWrite|initial:
		return d.want("a write without a version")
	}
	if success {
		d.ops = append(d.ops, o)
	}
	return nil
}

func (d *dbcopJSON) truth() (bool, error) {
	switch string(d.word()) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, d.want("true or false is expected")
}
