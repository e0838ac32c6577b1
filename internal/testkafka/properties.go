package testkafka

import (
	"bytes"
	_ "embed"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"text/template"
)

// The user that the secure listener knows, by PLAIN and both SCRAMs.
const (
	User     = "alice"
	Password = "alice-secret"
)

//go:embed server.properties.tmpl
var propertiesText string

// ports are fixed for the life of a broker, so that it restarts in its place.
type ports struct{ Port, SecurePort, ControllerPort int }

// The ports are drawn from these. The system gives connections ports from 32768 on, and a broker needs seconds until it
// listens: a connection took its port meanwhile.
const leastPort, portBehind = 20_000, 32_000

// freePorts draws three that nobody listens to. Another broker may draw one before this one listens; then this one does
// not start, and its log says why.
func freePorts() (ports, error) {
	var got [3]int
	var err error
	for i := range got {
		for range 100 {
			var l net.Listener
			if l, err = net.Listen("tcp", local(leastPort+rand.IntN(portBehind-leastPort))); err == nil {
				defer l.Close() // after the loop: all three at once, hence different
				got[i] = l.Addr().(*net.TCPAddr).Port
				break
			}
		}
		if err != nil {
			return ports{}, err
		}
	}
	return ports{got[0], got[1], got[2]}, nil
}

// properties is the broker's configuration; extra comes last and wins.
func properties(dir string, p ports, extra map[string]string) ([]byte, error) {
	t, err := template.New("server.properties").Parse(propertiesText)
	if err != nil {
		return nil, err
	}
	lines := make([]string, 0, len(extra))
	for _, k := range slices.Sorted(maps.Keys(extra)) {
		lines = append(lines, fmt.Sprintf("%s=%s", k, extra[k]))
	}
	var b bytes.Buffer
	err = t.Execute(&b, struct {
		ports
		Dir, User, Password string
		Extra               []string
	}{p, dir, User, Password, lines})
	return b.Bytes(), err
}
