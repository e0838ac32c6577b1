package window

import (
	"strconv"
	"strings"
)

// positionText is a position as findings print it: "kafka:TOPIC/PARTITION/OFFSET",
// "nats:STREAM/SEQ", "file:PATH:BYTE" or "file:PATH:LINE".
func positionText(partition string, offset int64) string {
	sep := "/"
	if strings.HasPrefix(partition, "file:") || !strings.Contains(partition, ":") {
		sep = ":"
	}
	return partition + sep + strconv.FormatInt(offset, 10)
}
