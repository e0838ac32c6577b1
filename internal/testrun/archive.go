package testrun

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Pack writes all files of a folder into one file, tar within gzip, for testdata.
func Pack(folder, file string) error {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	if err := errors.Join(w.AddFS(os.DirFS(folder)), w.Close(), z.Close()); err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, packed.Bytes(), 0o644))
}

// Unpack writes what Pack has packed into a folder.
func Unpack(file, folder string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		at := filepath.Join(folder, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(at, 0o700)
		} else {
			var all []byte
			if all, err = io.ReadAll(r); err == nil {
				err = errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, all, 0o600))
			}
		}
		if err != nil {
			return err
		}
	}
}
