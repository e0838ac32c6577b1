// Package deploytest tests the files that the monitor is deployed with. It reads the chart
// with Helm's own packages and the types of Kubernetes and of the Prometheus operator. It
// reads the Dockerfile and the compose example with the parsers of their makers. It is a
// module of its own, so that the monitor does not depend on these.
package deploytest
