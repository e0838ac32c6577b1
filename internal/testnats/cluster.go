package testnats

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Cluster is several servers with routes to each other: JetStream replicates over
// them. The i-th is named s1, s2, ...
type Cluster []*Server

// NewCluster makes n servers in folders of dir, which Start starts.
func NewCluster(ctx context.Context, program, dir string, n int) (Cluster, error) {
	ports := make([]int, n)
	routes := make([]string, n)
	for i := range ports {
		var err error
		if ports[i], err = freePort(ctx); err != nil {
			return nil, err
		}
		routes[i] = fmt.Sprintf("nats://127.0.0.1:%d", ports[i])
	}
	c := make(Cluster, n)
	for i := range c {
		home := filepath.Join(dir, serverName(i))
		if err := os.MkdirAll(home, 0o755); err != nil {
			return nil, err
		}
		c[i] = &Server{Program: program, Dir: home, Args: []string{
			"--server_name", serverName(i), "--cluster_name", "test", "--cluster", routes[i], "--routes", strings.Join(routes, ","),
		}}
	}
	return c, nil
}

func serverName(i int) string { return fmt.Sprint("s", i+1) }

// Start starts all servers: one alone has no quorum and does not answer.
func (c Cluster) Start(ctx context.Context) error {
	failed := make([]error, len(c))
	var starting sync.WaitGroup
	for i, s := range c {
		starting.Go(func() { failed[i] = s.Start(ctx) })
	}
	starting.Wait()
	return errors.Join(failed...)
}

// Kill ends all servers.
func (c Cluster) Kill() {
	for _, s := range c {
		_ = s.Kill()
	}
}

// URLs are where clients connect.
func (c Cluster) URLs() []string {
	urls := make([]string, len(c))
	for i, s := range c {
		urls[i] = s.URL()
	}
	return urls
}

// Named is the server of that name.
func (c Cluster) Named(name string) *Server {
	for i, s := range c {
		if serverName(i) == name {
			return s
		}
	}
	return nil
}
