// Package browsertest looks at the pages of a running monitor with a real Chromium. People can find, filter,
// open, expand and download. Nothing is wider than the page, no error is logged, and axe-core finds no fault.
// It is a module of its own, so that the monitor does not depend on chromedp.
package browsertest
