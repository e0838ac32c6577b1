//go:build integration

package browsertest

import (
	"bytes"
	"cmp"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// What a picture in docs/findings may take.
const (
	pictureBytes  = 40 << 10
	pictureWidth  = 800
	pictureHeight = 1200
	// The fewer colours, the smaller: edges of letters have the most.
	pictureColours = 64
)

const (
	// gallery has a picture of a finding of each kind.
	gallery       = root + "/docs/findings/"
	groupsPicture = root + "/docs/groups.png"
)

// keep writes an image into docs/.
func keep(t *testing.T, file string, shot []byte, colours int) {
	t.Helper()
	if err := os.WriteFile(file, packed(t, shot, colours), 0o644); err != nil {
		t.Fatal(err)
	}
}

// screenshot keeps what the page shows now in docs/.
func (b *browser) screenshot(name string, width, height int64) {
	b.t.Helper()
	var shot []byte
	b.do("a screenshot", light, chromedp.EmulateViewport(width, height), chromedp.CaptureScreenshot(&shot))
	keep(b.t, root+"/docs/"+name+".png", shot, 256)
}

var light = emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "light"}})

// portray keeps the page of a finding, from its name to its timeline; without a picture, to its facts.
func (b *browser) portray(kind, url string) {
	b.t.Helper()
	b.do(kind, light, chromedp.EmulateViewport(pictureWidth, 900), chromedp.Navigate(url), chromedp.WaitReady("article.single"))
	ends := value[[]float64](b, `(() => {
		const article = document.querySelector("article.single").getBoundingClientRect();
		const last = (document.querySelector("figure.time") ?? document.querySelector(".beside") ?? document.querySelector("dl.record")).getBoundingClientRect();
		return [article.top + scrollY - 8, last.bottom + scrollY + 16];
	})()`)
	var shot []byte
	b.do(kind, chromedp.ActionFunc(func(ctx context.Context) (err error) {
		clip := &page.Viewport{Y: ends[0], Width: pictureWidth, Height: min(ends[1]-ends[0], pictureHeight), Scale: 1}
		shot, err = page.CaptureScreenshot().WithCaptureBeyondViewport(true).WithClip(clip).Do(ctx)
		return err
	}))
	keep(b.t, gallery+kind+".png", shot, pictureColours)
}

// smallPictures says which picture of the gallery is missing or large.
func smallPictures(t *testing.T) {
	t.Helper()
	for _, k := range append(slices.Collect(maps.Keys(others)), kinds...) {
		small(t, gallery+k+".png")
	}
}

// small says whether a picture is missing or large.
func small(t *testing.T, file string) {
	t.Helper()
	if info, err := os.Stat(file); err != nil || info.Size() > pictureBytes {
		t.Errorf("the picture %s: %v, or more than %d bytes; -rewrite takes it", file, err, pictureBytes)
	}
}

// packed is the image in its most frequent colours, 256 at most. With these it takes half of the bytes.
func packed(t *testing.T, file []byte, most int) []byte {
	t.Helper()
	from, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	size := from.Bounds()
	count := map[color.NRGBA]int{}
	for y := range size.Dy() {
		for x := range size.Dx() {
			count[color.NRGBAModel.Convert(from.At(x, y)).(color.NRGBA)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(count), func(a, b color.NRGBA) int {
		return cmp.Or(count[b]-count[a], cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var palette color.Palette
	for _, c := range colours[:min(len(colours), most)] {
		palette = append(palette, c)
	}
	to := image.NewPaletted(size, palette)
	draw.Draw(to, size, from, size.Min, draw.Src)
	var small bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, to); err != nil {
		t.Fatal(err)
	}
	return small.Bytes()
}
