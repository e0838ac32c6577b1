package main

import "strings"

// remedies map parts of error texts to advice on faults around the program. The key is a text, since
// the libraries of brokers and databases do not always wrap the system's errors. The first one that
// fits is told.
var remedies = []struct{ text, remedy string }{
	{"no such host", "No such host is known here. Check the name in the address."},
	{"connection refused", "Nothing listens at that address. Check host and port, and that the server runs."},
	{"no broker answers", "Check the addresses of the brokers, and that they run."},
	{"no servers available", "Check the addresses of the servers, and that they run."},
	{"not connected to", "Check the addresses of the servers, and that they run."},
	{"no server answers", "Check the addresses of the servers, and that they run."},
	{"i/o timeout", "The server does not answer. Check the address, and whether a firewall stands between."},
	{"network is unreachable", "Check the address, and the network of this machine."},
	{"no route to host", "Check the address, and the network of this machine."},
	{"unable to open database file", "Check that the folder of the file exists, and that you may write to it."},
	{"permission denied", "Check who owns it, or run as a user who may do that."},
	{"no space left on device", "Make room on the disk, or name another place."},
	{"read-only file system", "Name another place: this one cannot be written to."},
}

// remedy says what to do about a fault, unless its text does: a second line of the text is a remedy.
func remedy(fault string) string {
	if strings.Contains(fault, "\n") {
		return ""
	}
	for _, r := range remedies {
		if strings.Contains(fault, r.text) {
			return r.remedy
		}
	}
	return ""
}
