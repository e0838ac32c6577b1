// Package picture draws a finding as SVG. Transactions are boxes with the operations that matter, on a ring
// or in a column, with labelled arrows between them. A timeline shows them by session and time.
package picture

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the style sheet
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/render/scene"
)

// style colours every picture, for light and dark.
//
//go:embed style.css
var style string

// StyleHash is the hash source by which a Content-Security-Policy admits the
// style sheet inside a picture: 'sha256-...'.
func StyleHash() string {
	sum := sha256.Sum256([]byte(style))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Style is the style sheet inside each picture. A page may have it once, with pictures that are [Bare].
func Style() string { return style }

// Bare is a picture without its style sheet.
func Bare(svg []byte) []byte { return bytes.Replace(svg, []byte("<style>"+style+"</style>\n"), nil, 1) }

// onRing is the most boxes of a ring. More are too small to read where the page is narrow.
const onRing = 6

// SVG is the picture of f as a document of its own, or for use inside HTML. Its ids start with
// a hash of the finding's id, so that several fit on one page. The same finding gives the same
// bytes. Up to six transactions are on a ring, more are in a column.
func SVG(f finding.Finding) []byte { return Wide(scene.New(&f), nil) }

// Evidence is the address of the evidence of an arrow of the scene, for a link. nil: there are no links.
type Evidence func(arrow int) string

// halfPage is how wide a picture can be beside text, on a wide page. The style sheet gives a broader one the whole width.
const halfPage = 600

// Wide is the picture for a page with room.
func Wide(s *scene.Scene, evidence Evidence) []byte {
	d := newDrawing(s)
	if len(d.nodes) > onRing {
		return Narrow(s, evidence)
	}
	d.evidence = evidence
	d.ring()
	return d.bytes(s, "w")
}

// Narrow is the picture for a page of 360 px: the boxes stand in a column.
func Narrow(s *scene.Scene, evidence Evidence) []byte {
	d := newDrawing(s)
	d.evidence = evidence
	d.column()
	return d.bytes(s, "n")
}

// bytes writes the picture. form tells the ids of two pictures of one finding from each other.
func (d *drawing) bytes(s *scene.Scene, form string) []byte {
	d.prefix = prefixOf(s, form)
	d.write()
	return d.out.Bytes()
}

func prefixOf(s *scene.Scene, form string) string {
	sum := sha256.Sum256([]byte(s.Finding.ID))
	return form + hex.EncodeToString(sum[:4])
}

func (d *drawing) write() {
	box, role := d.bounds(), "img"
	if d.evidence != nil {
		role = "group" // of an image, a screen reader tells no links
	}
	class := "isowatch"
	if box.width() > halfPage {
		class += " broad"
	}
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" class="%s" role="%s" aria-labelledby="%s-t %[3]s-d" `, class, role, d.prefix)
	d.printf(`width="%.0f" height="%.0f" viewBox="%.0f %.0f %.0f %.0f">`+"\n",
		box.width(), box.height(), box.left, box.top, box.width(), box.height())
	d.printf(`<title id="%s-t">%s</title>`+"\n", d.prefix, escape(d.title()))
	d.printf(`<desc id="%s-d">%s</desc>`+"\n", d.prefix, escape(d.description()))
	d.printf("<style>%s</style>\n", style)
	d.writeMarkers()
	for i := range d.arrows {
		d.writeArrow(&d.arrows[i])
	}
	for i := range d.nodes {
		d.writeNode(&d.nodes[i])
	}
	for i := range d.arrows {
		d.writeLabel(&d.arrows[i])
	}
	d.writeLegend()
	d.printf("</svg>\n")
}

func (d *drawing) title() string {
	if d.finding.Title == "" || d.finding.Title == d.finding.Anomaly {
		return d.finding.Anomaly
	}
	return d.finding.Title + " (" + d.finding.Anomaly + ")"
}

// description says in words what the picture shows.
func (d *drawing) description() string {
	var b strings.Builder
	edges := d.finding.Edges
	switch c := d.finding.Core; {
	case c != nil && len(c.Edges) > 0:
		b.WriteString("Transactions without an order.")
		edges = c.Edges
	case len(edges) == 0:
		b.WriteString("Transactions:")
		for i := range d.nodes {
			b.WriteString(" " + d.nodes[i].name)
		}
		return b.String() + "."
	default:
		b.WriteString("Dependencies that contradict each other.")
	}
	for _, e := range edges {
		fmt.Fprintf(&b, " %s before %s (%s)", d.nameOf(e.From), d.nameOf(e.To), label(e))
		if e.Evidence != "" {
			b.WriteString(": " + e.Evidence)
		}
		b.WriteByte('.')
	}
	return b.String()
}

func (d *drawing) writeMarkers() {
	d.printf("<defs>\n")
	for _, kind := range d.kinds() {
		d.printf(
			`<marker id="%s-%s" class="head %[2]s" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0.5 10 5 0 9.5Z"/></marker>`+"\n",
			d.prefix,
			kind,
		)
	}
	d.printf("</defs>\n")
}

func (d *drawing) writeArrow(a *arrow) {
	course := a.course()
	if d.evidence != nil { // keys and screen readers meet the link of the label
		d.printf(`<a href="%s" tabindex="-1" aria-hidden="true"><path class="hit" d="%s"/>`, escape(d.evidence(a.of)), course)
	}
	d.printf(`<path class="edge %s" marker-end="url(#%s-%s)" d="%s"/>`, a.kind, d.prefix, a.kind, course)
	d.endLink()
}

// course is the arrow as the data of a path.
func (a *arrow) course() string {
	if a.path == nil {
		c := a.curve
		return fmt.Sprintf("M%.1f %.1fQ%.1f %.1f %.1f %.1f", c[0].x, c[0].y, c[1].x, c[1].y, c[2].x, c[2].y)
	}
	var b strings.Builder
	for i, p := range a.path {
		command := byte('L')
		if i == 0 {
			command = 'M'
		}
		fmt.Fprintf(&b, "%c%.1f %.1f", command, p.x, p.y)
	}
	return b.String()
}

func (d *drawing) writeLabel(a *arrow) {
	at, w := a.middle(), labelWidth(a.label)
	order := "before"
	if a.kind == scene.Contradicts {
		order = "and"
	}
	d.beginLink(a.of, fmt.Sprintf("%s %s %s, %s", d.nodes[a.from].name, order, d.nodes[a.to].name, a.label))
	d.printf(`<g class="label %s"><rect x="%.1f" y="%.1f" width="%.1f" height="%d" rx="%d"/>`,
		a.kind, at.x-w/2, at.y-labelHeight/2, w, labelHeight, labelHeight/2)
	d.printf(`<text x="%.1f" y="%.1f" text-anchor="middle">%s</text></g>`, at.x, at.y+4, escape(a.label))
	d.endLink()
}

// beginLink begins a link to the evidence of an arrow of the scene, unless there are no links.
func (d *drawing) beginLink(arrow int, name string) {
	if d.evidence != nil {
		d.printf(`<a href="%s" aria-label="%s">`, escape(d.evidence(arrow)), escape("Evidence: "+name))
	}
}

func (d *drawing) endLink() {
	if d.evidence != nil {
		d.printf("</a>")
	}
	d.printf("\n")
}

func (d *drawing) writeNode(n *node) {
	r := n.rect()
	d.printf(`<g class="txn" role="group" aria-label="%s">`, escape("transaction "+n.name))
	d.printf(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="8"/>`, r.left, r.top, r.width(), r.height())
	x, y := r.left+padding, r.top+padding+12
	d.printf(`<text class="name" x="%.1f" y="%.1f">%s</text>`, x, y, escape(n.name))
	for _, about := range n.about {
		y += lineHeight
		d.printf(`<text class="about" x="%.1f" y="%.1f">%s</text>`, x, y, escape(about))
	}
	if len(n.ops) > 0 {
		y += ruleHeight
		d.printf(`<path class="rule" d="M%.1f %.1fH%.1f"/>`, r.left, y-4, r.right)
	}
	var rows []float64 // of the operations that contradict each other
	for _, op := range n.ops {
		y += lineHeight
		if op.involved {
			rows = append(rows, y-4)
		}
		class := "op"
		if op.involved {
			class = "op involved"
		}
		d.printf(`<text class="%s" x="%.1f" y="%.1f">%s</text>`, class, x, y, escape(op.text))
	}
	if n.alone && len(rows) > 1 {
		bracket := fmt.Sprintf("M%.1f %.1fh-6V%.1fh6", r.right-4, rows[0], rows[len(rows)-1])
		d.beginLink(n.loop, "two operations of "+n.name)
		if d.evidence != nil {
			d.printf(`<path class="hit" d="%s"/>`, bracket)
		}
		d.printf(`<path class="edge other" d="%s"/>`, bracket)
		d.endLink()
	}
	d.printf("</g>\n")
}

// writeLegend explains each kind of arrow in the picture.
func (d *drawing) writeLegend() {
	r := d.legendRect()
	for i, kind := range d.kinds() {
		y := r.top + float64(i)*legendHeight + legendHeight/2
		d.printf(`<path class="edge %s" d="M%.1f %.1fH%.1f"/>`, kind, r.left, y, r.left+legendLine)
		d.printf(`<text class="legend" x="%.1f" y="%.1f">%s</text>`+"\n", r.left+legendLine+10, y+4, escape(meaning(kind)))
	}
}

func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(&d.out, format, args...) }

// escape makes text fit for XML content and attributes. Control and formatting characters, which could
// reorder or hide other text, are written out.
func escape(text string) string {
	text = finding.Visible(text)
	var b bytes.Buffer
	xml.EscapeText(&b, []byte(text)) // a bytes.Buffer takes every write
	return b.String()
}
