package kerneltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/devicetest"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// side is one backend with its memory counted.
type side struct {
	backend *kernels.Backend
	types   kernels.Types // of the entry at hand
	memory  *tally        // what kernels allocate
	// What follows is for a device that the host's columns must be moved to, and
	// nil on the host: memory that never fails, so that failures are the kernels'.
	arguments *tally
	stream    device.Stream
	moved     map[*memory.Column]*memory.Column // by the host's column, which is kept
}

func newSide(b *kernels.Backend, guarded bool) (*side, error) {
	m, err := newTally(b.Device, guarded)
	if err != nil {
		return nil, err
	}
	s := &side{backend: &kernels.Backend{Device: devicetest.WithMemory(b.Device, m), Set: b.Set}, memory: m}
	if s.onHost() {
		return s, nil
	}
	if s.arguments, err = newTally(b.Device, guarded); err != nil {
		return nil, errors.Join(err, m.close())
	}
	s.moved = map[*memory.Column]*memory.Column{}
	if s.stream, err = b.Device.NewStream(); err != nil {
		return nil, errors.Join(err, m.close(), s.arguments.close())
	}
	return s, nil
}

// onHost tells whether the backend's kernels run on the host's memory.
func (b *side) onHost() bool { return b.backend.Device.Place() == memory.Host }

// there is a host column on the side's device, until forget.
func (b *side) there(c *memory.Column) (*memory.Column, error) {
	if moved := b.moved[c]; moved != nil {
		return moved, nil
	}
	moved, err := device.Move(context.Background(), b.stream, b.arguments, c)
	if err == nil {
		b.moved[c.Retain()] = moved
	}
	return moved, err
}

// changed is an error where an argument on the device is not what the host's
// column is any more. It is moved anew when it is asked for again.
func (b *side) changed() error {
	var all []error
	for c, moved := range b.moved {
		back, err := device.Move(context.Background(), b.stream, memory.Heap, moved)
		if err != nil {
			all = append(all, err)
			continue
		}
		var want [][]byte
		eachBuffer(c, func(b []byte) { want = append(want, b) })
		k := 0
		var differs error
		eachBuffer(back, func(b []byte) {
			if !bytes.Equal(b, want[k]) {
				differs = fmt.Errorf("the call changed buffer %d of an argument of type %s on the device", k, c.Type())
			}
			k++
		})
		back.Release()
		if differs != nil {
			all = append(all, differs)
			delete(b.moved, c)
			moved.Release()
			c.Release()
		}
	}
	return errors.Join(all...)
}

// forget drops the moved columns but for those of inputs that are still owned.
func (b *side) forget(owned []input) error {
	if len(b.moved) == 0 {
		return nil
	}
	keep := map[*memory.Column]bool{}
	for _, in := range owned {
		keep[in.column] = true
	}
	for c, moved := range b.moved {
		if !keep[c] {
			delete(b.moved, c)
			moved.Release()
			c.Release()
		}
	}
	return b.arguments.settle()
}

// close ends the side, once its backend is not called any more.
func (b *side) close() error {
	if b.onHost() {
		return b.memory.close()
	}
	return errors.Join(b.forget(nil), b.memory.close(), b.arguments.close(), b.stream.Close())
}

// lacking is the refusal of a type that the entry at hand has not got, which is
// the golden list's to say and no failure.
type lacking struct{ error }

// Unwrap gives the refusal.
func (l *lacking) Unwrap() error { return l.error }

// lacks tells whether err is the refusal of one of the given types, or of what
// is in its dictionary.
func (b *side) lacks(err error, given []arrow.DataType) bool {
	if !errors.Is(err, device.ErrUnsupported) {
		return false
	}
	for _, of := range given {
		if of == nil {
			continue
		}
		all := []arrow.DataType{of}
		if d, ok := of.(*arrow.DictionaryType); ok {
			all = append(all, d.ValueType)
		}
		for _, t := range all {
			if b.types.Has(t.ID()) {
				continue
			}
			for _, text := range []string{" of " + t.String(), " to " + t.String(), " of type " + of.String()} {
				if strings.Contains(err.Error(), text) {
					return true
				}
			}
		}
	}
	return false
}

// without tells whether got is the refusal of a type that only the reference has.
func without(got, want error) bool {
	var g, w *lacking
	return errors.As(got, &g) && !errors.As(want, &w)
}
