// Package deploytest tests what the monitor is deployed with: the chart, through
// Helm's own packages and the types of Kubernetes and of the Prometheus operator; the
// Dockerfile and the compose example, through the parsers of their makers. It is a
// module of its own, so that the monitor depends on none of them.
package deploytest
