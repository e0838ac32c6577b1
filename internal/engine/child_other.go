//go:build !linux || !(amd64 || arm64) || race

package engine

import (
	"errors"
	"io"

	"github.com/isowatch/isowatch/internal/flat"
)

func instant([]flat.Part) (io.ReadCloser, error) { return nil, errors.ErrUnsupported }
