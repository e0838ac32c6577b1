//go:build !race

package capture

// raceEnabled: see race_test.go.
const raceEnabled = false
