package app

import (
	"strings"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/internal/catalog"
	"github.com/isowatch/isowatch/internal/tape"
	"github.com/isowatch/isowatch/internal/whole"
)

// tapeBytes of a broker's latest messages are kept for the findings of a replay.
const tapeBytes = 16 << 20

// keeping begins to keep messages, where records are to be shown as they came in. Files are read again at the end.
func (p *replaying) keeping() {
	if c := &p.Config; p.Raws > 0 && c.Watch.ShowValues && (c.NATS != nil || c.Kafka != nil) {
		p.tape = &tape.Tape{Bytes: tapeBytes}
	}
}

// keep keeps a message of a broker, with the records that the batch has of it.
func (p *replaying) keep(x *replayPart, m *ingest.Message, txns []event.Txn, parts []event.Part) {
	if p.tape != nil && x.input.name != "file:" {
		b := &p.history.Batch
		p.tape.Add(b.Partitions[x.index], p.history.Decoder.Source, []ingest.Message{*m}, b, txns, parts)
	}
}

// step makes a step, and takes the records of what it found from the latest messages.
func (p *replaying) step() {
	p.history.Step()
	p.recall(p.history.Findings)
}

// recall takes the records of findings that have none from the latest messages: of those that a report may show.
func (p *replaying) recall(findings []finding.Finding) {
	if p.tape == nil || len(findings) == p.recalled {
		return
	}
	var fresh []finding.Finding
	for i := p.recalled; i < len(findings); i++ {
		of := catalog.GroupOf(&findings[i])
		key := of.Key()
		example := !p.groups[key] && len(p.groups) < p.Raws
		if example {
			p.groups[key] = true
		}
		if example || i < p.Raws {
			fresh = append(fresh, findings[i])
		}
	}
	p.recalled = len(findings)
	s := tape.NewSearch(fresh)
	p.tape.Find(s)
	p.found(s, fresh)
}

// found notes records that were found.
func (p *replaying) found(s *tape.Search, findings []finding.Finding) {
	for id, list := range whole.ByFinding(s, findings) {
		p.raws[id] = list
	}
}

// came are the records of the findings that a report shows, as they came in, by the finding's id. Files are read once more for that.
func (p *replaying) came(r *Replayed) map[string][]finding.Raw {
	if p.Raws == 0 || !p.Config.Watch.ShowValues {
		return nil
	}
	p.recall(p.history.Findings)
	shown := catalog.ExamplesOf(r.Findings, p.Raws)
	if r.Closed != nil {
		shown = append(shown[:len(shown):len(shown)], *r.Closed)
	}
	s := tape.NewSearch(shown)
	if s.Idle() {
		return p.raws
	}
	if p.tape != nil {
		p.tape.Find(s)
	}
	d := &p.history.Decoder
	if p.recording != nil && p.recording.Search(s, d, whole.PartitionOf(p.recording.Name)) != nil {
		return p.raws // the recording is gone: records are shown as they were decoded
	}
	for name := range p.parts {
		path, isFile := strings.CutPrefix(name, "file:")
		if isFile && whole.SearchFile(s, path, d.Source) != nil {
			return p.raws
		}
	}
	latest := p.raws
	p.raws = map[string][]finding.Raw{}
	p.found(s, shown)
	for id, list := range latest {
		if len(p.raws[id]) < len(list) { // more of its records were there when it was found
			p.raws[id] = list
		}
	}
	return p.raws
}
