package testrun

import (
	"os"
	"runtime"
	"runtime/debug"
)

// idle is never touched, so it takes no memory. It counts as heap in use: the collector starts when five
// times as much is there.
var idle []byte

// CollectRarely is for packages whose tests make a machine of a few MB for each of many histories: collecting them
// took up to half of the time. GOGC in the environment goes before it.
func CollectRarely() {
	if os.Getenv("GOGC") == "" {
		idle = make([]byte, 64<<20)
		runtime.KeepAlive(idle)
		debug.SetGCPercent(400)
	}
}
