package dataloader

import (
	"context"
	"errors"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
)

// streams are those of a backend that nobody works on at the moment.
type streams struct {
	of   *kernels.Backend
	idle chan device.Stream
}

func newStreams(b *kernels.Backend) streams { return streams{b, make(chan device.Stream, 64)} }

func (s *streams) take() (device.Stream, error) {
	select {
	case one := <-s.idle:
		return one, nil
	default:
		return s.of.NewStream()
	}
}

// giveBack keeps a stream for the next, unless it has failed.
func (s *streams) giveBack(one device.Stream) {
	if one.Wait(context.Background()) == nil {
		select {
		case s.idle <- one:
			return
		default:
		}
	}
	_ = one.Close() // whose failure who used it has told
}

// close closes those that are idle, which are all.
func (s *streams) close() error {
	var errs []error
	for {
		select {
		case one := <-s.idle:
			errs = append(errs, one.Close())
		default:
			return errors.Join(errs...)
		}
	}
}
