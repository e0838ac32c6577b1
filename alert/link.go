package alert

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/isowatch/isowatch/finding"
)

// findingURL is the page of a finding, the same for all its revisions.
func findingURL(pages, id string) string {
	return strings.TrimSuffix(pages, "/") + "/findings/" + url.PathEscape(id)
}

// listURL is the list of the findings of a pattern's source and anomaly, as in the alerts of the rules.
func listURL(pages string, p *Pattern) string {
	list := strings.TrimSuffix(pages, "/") + "/findings?source=" + url.QueryEscape(p.Source)
	switch p.Anomaly {
	case otherwise:
		return list
	case string(finding.ResolvedViolated): // see PatternOf
		return list + "&state=" + p.Anomaly
	}
	return list + "&anomaly=" + url.QueryEscape(p.Anomaly)
}

// link names the finding's page in it and in its JSON, whose bytes others share.
func (d *Delivery) link(pages string) {
	if pages == "" || len(d.JSON) < len(`{"":0}`) {
		return
	}
	d.Finding.PageURL = findingURL(pages, d.Finding.ID)
	text, _ := json.Marshal(d.Finding.PageURL) // of a string: it does not fail
	open := d.JSON[:len(d.JSON)-1]             // page_url is the last key of a finding
	d.JSON = append(append(append(open[:len(open):len(open)], `,"page_url":`...), text...), '}')
}
