// Package browsertest looks at the pages of a running monitor with a real Chromium: that people can find,
// filter, open, expand and download, that nothing is wider than the page, that no error is logged, and what
// axe-core says of them. It is a module of its own, so that the monitor does not depend on chromedp.
package browsertest
