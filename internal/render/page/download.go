package page

import (
	"encoding/base64"
	"encoding/json"
	"html/template"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/render/picture"
	"github.com/isowatch/isowatch/internal/render/records"
)

// Download is a file within a page.
type Download struct {
	Name, File string
	URL        template.URL // data:
}

// downloadsOf are the downloads that the service has at addresses of their own, except for the report itself. A form is left
// out where it cannot say the finding.
func downloadsOf(f *finding.Finding, drawn bool) (all []Download) {
	add := func(name, ending, media string, text []byte, err error) {
		if err == nil {
			all = append(all, Download{name, "finding-" + f.ID + ending, template.URL("data:" + media + ";base64," + base64.StdEncoding.EncodeToString(text))})
		}
	}
	text, err := json.Marshal(f)
	add("JSON", ".json", "application/json", text, err)
	if drawn {
		add("SVG", ".svg", "image/svg+xml", picture.SVG(*f), nil)
		add("DOT", ".dot", "text/vnd.graphviz", picture.DOT(*f), nil)
	}
	if len(f.History) > 0 {
		text, err = records.JSONL(f)
		add("records (JSONL)", ".jsonl", "application/jsonl", text, err)
		text, err = records.EDN(f)
		add("records (EDN, for Elle)", ".edn", "application/edn", text, err)
	}
	return all
}
