// Package app wires the service together: store, engine, inputs, sinks, pages
// and the socket beside which stored findings can be read. [App] is started and
// stopped by its caller; it listens to no signal and ends no process.
package app
