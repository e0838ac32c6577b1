package event

import (
	"strconv"
	"strings"
)

// Where is p as findings print it: "kafka:TOPIC/PARTITION/OFFSET",
// "nats:STREAM/SEQ", "file:PATH:BYTE". Records that share a message share it.
func (b *Batch) Where(p Position) string {
	name := ""
	if int(p.Partition) < len(b.Partitions) {
		name = b.Partitions[p.Partition]
	}
	sep := ":"
	if strings.HasPrefix(name, "kafka:") || strings.HasPrefix(name, "nats:") {
		sep = "/"
	}
	return name + sep + strconv.FormatInt(p.Offset, 10)
}
