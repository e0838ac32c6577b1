//go:build race

package capture

// raceEnabled: under the race detector sync.Pool forgets at random.
const raceEnabled = true
