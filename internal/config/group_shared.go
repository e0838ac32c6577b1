package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Shared are the settings that decide findings, as texts by their names. All members of a group have to have the same.
func (s *Service) Shared() map[string]string {
	units := s.Units()
	for _, k := range s.Partitioned() {
		for _, topic := range k.Topics {
			units = append(units, "partitions of "+topic)
		}
	}
	slices.Sort(units)
	all := map[string]string{"lease": s.Group.Lease.String(), "units": strings.Join(units, ", ")}
	if len(all["units"]) > mostUnitsText {
		hash := sha256.Sum256([]byte(all["units"]))
		all["units"] = fmt.Sprintf("%d, with the hash %s", len(units), hex.EncodeToString(hash[:4]))
	}
	usual := s.Watch.texts()
	for name, text := range usual {
		all[name] = text
	}
	for _, source := range s.SourceNames() {
		for name, text := range s.WatchOf(source).texts() {
			if text != usual[name] {
				all[name+" of "+source] = text
			}
		}
	}
	return all
}

// mostUnitsText is how long the names of units may be together: members write them again and again.
const mostUnitsText = 1000

// texts are the settings that decide findings, by name.
func (w *Watch) texts() map[string]string {
	all := map[string]string{}
	for _, f := range w.fields() {
		switch to := f.to.(type) {
		case leaf:
			all[f.key] = to.String()
		case listing:
			all[f.key] = strings.Join(*to.to, ", ")
		case tree:
			for _, part := range to.fields() {
				if x, ok := part.to.(leaf); ok {
					all[f.key+"."+part.key] = x.String()
				}
			}
		}
	}
	delete(all, "show-values") // each member's own
	return all
}
