//go:build integration

package isowatch_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"flag"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "keep the screenshot that is taken")

// TestTakeScreenshot takes the README's picture with a real browser. With -rewrite it is kept.
func TestTakeScreenshot(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("needs the program chromium; with CI=true its absence is a failure: %v", err)
	}
	pages, path := examplePages(t)
	server := httptest.NewServer(pages)
	defer server.Close()
	file := filepath.Join(t.TempDir(), "alert.png")
	out, err := exec.CommandContext(t.Context(), browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
		"--user-data-dir="+t.TempDir(), "--blink-settings=preferredColorScheme=1", "--force-device-scale-factor=1",
		"--window-size=1200,910", "--screenshot="+file, server.URL+path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	taken, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	taken = labelled(packed(t, taken), shown(t))
	if err := sound(taken); err != nil {
		t.Error(err)
	}
	if *rewrite {
		if err := os.WriteFile(screenshot, taken, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// packed is the image in its 256 most frequent colours, which takes half of the bytes.
func packed(t *testing.T, file []byte) []byte {
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
	for _, c := range colours[:min(len(colours), 256)] {
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

// labelled is the image with the chunk.
func labelled(image []byte, hash string) []byte {
	body := []byte("tEXt" + shownTitle + hash)
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(body)-4))
	chunk = binary.BigEndian.AppendUint32(append(chunk, body...), crc32.ChecksumIEEE(body))
	return bytes.Join([][]byte{image[:headerEnd], chunk, image[headerEnd:]}, nil)
}
