package dataloader

import (
	"sync/atomic"
	"unsafe"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// slot is a place in the ring: memory for one batch.
type slot struct {
	both    alsoOf // the contexts of the batch that its caller makes
	loader  *Loader
	buffer  *memory.Buffer
	device  *deviceSlot // nil where the loader has no device
	rows    []int64     // room for the largest batch
	data    [][]byte    // room for each part
	valid   [][]byte
	offsets [][]int64 // of parts of lists, else nil
	tensors []Tensor  // of the batch that is in it

	lease atomic.Uint64 // counts up when a batch begins and when it ends: odd while there is one
	epoch int64
	step  int64
	// position is where in the epoch's order the step begins, of all ranks.
	position int64
	n        int64 // rows of the source
	height   int64 // of the tensors, another number where the source is resizing
	padded   int64
	leftOut  int64                  // rows that SkipBad left out, without those that would have been padding
	err      error                  // instead of a batch
	ending   error                  // behind a batch that is short for it; nil where none is
	later    gathered               // what was read of it and is not evaluated; nil where all is
	room     func(n int64) []Tensor // its tensors, of so many rows where the source is resizing
}

// alignedNumbers is n zeros that lie as tensors must for frameworks that trust them
// to be aligned.
func alignedNumbers(n int64) []int64 {
	const words = memory.Alignment / 8
	all := make([]int64, n+words-1)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(all))) % memory.Alignment / 8
	return all[skip : int64(skip)+n : int64(skip)+n]
}

// offsetsOf is where the elements and the mask of part i begin in the memory of a batch,
// of which both are the size where there are no more parts.
func (l *Loader) offsetsOf(i int) (data, valid int64) {
	for k := range l.plan.parts {
		d, m := l.plan.parts[k].bytes(l.height())
		if k == i {
			return data, data + memory.Padded(d)
		}
		data += memory.Padded(d) + memory.Padded(m)
	}
	return data, data
}

// newSlot takes memory for a batch.
func newSlot(l *Loader) (*slot, error) {
	rows := l.height()
	size, _ := l.offsetsOf(len(l.plan.parts))
	if l.there != nil {
		size = 8 * l.sampler.most() // of the rows' numbers, which go to the device
	}
	buffer, err := l.ringMemory(size)
	if err != nil {
		return nil, err
	}
	s := &slot{loader: l, buffer: buffer, rows: alignedNumbers(l.sampler.most()), tensors: make([]Tensor, len(l.plan.parts))}
	s.room = func(n int64) []Tensor {
		if l.resizing {
			l.spread(s, n)
		}
		return s.tensors
	}
	if l.there != nil {
		s.data, s.valid, s.offsets = make([][]byte, len(s.tensors)), make([][]byte, len(s.tensors)), make([][]int64, len(s.tensors))
		if err := l.addDevice(s); err != nil {
			l.closeSlot(s)
			return nil, err
		}
		return s, nil
	}
	rest := buffer.Bytes()
	take := func(n int64) []byte {
		piece := rest[:n:n]
		rest = rest[memory.Padded(n):]
		return piece
	}
	for i := range l.plan.parts {
		d, m := l.plan.parts[i].bytes(rows)
		s.data, s.valid = append(s.data, take(d)), append(s.valid, take(m))
		s.offsets = append(s.offsets, nil)
		if l.plan.parts[i].lists() {
			s.offsets[i] = alignedNumbers(rows + 1)
		}
	}
	if err := l.addDevice(s); err != nil {
		l.closeSlot(s)
		return nil, err
	}
	return s, nil
}

// Batch is a lent batch. It is a small value: copies of it are the same loan.
// Once it was released, by Release or by the end of a loop's body, every method
// fails with an ErrClosed; slices that were taken from it before must not be
// used any more, since the memory is written anew.
type Batch struct {
	slot  *slot
	lease uint64
	made  bool // it is being made: Transform has it
}

func (b Batch) alive(call string) (*slot, error) {
	if b.slot == nil || b.slot.lease.Load() != b.lease {
		return nil, device.Errorf(device.ErrClosed, "", "dataloader.Batch."+call, "the batch was released")
	}
	return b.slot, nil
}

// Info is what a batch is.
type Info struct {
	Epoch int64
	Step  int64 // which batch of this rank it is, counted from where the epoch was taken up
	Rows  int64 // of the tensors
	// Padded is how many of the rows, the last, are given a second time in this
	// epoch: see Pad.
	Padded int64
}

// Info says which batch it is.
func (b Batch) Info() (Info, error) {
	s, err := b.alive("Info")
	if err != nil {
		return Info{}, err
	}
	return Info{s.epoch, s.step, s.height, s.padded}, nil
}

// Rows are the numbers of the rows in the source, of which a BatchMap may have made
// another number of rows.
func (b Batch) Rows() ([]int64, error) {
	s, err := b.alive("Rows")
	if err != nil {
		return nil, err
	}
	return s.rows[:s.n], nil
}

// Features is the matrix of the features. In the layout Columns there is none,
// nor where no feature is in a matrix: an ErrMismatch. So it is of a batch that was
// gathered on a device: FeaturesOnDevice has it.
func (b Batch) Features() (Tensor, error) { return b.tensor("Features", (*plan).featuresPart) }

// Labels is the matrix of the labels, or an ErrMismatch where there are none, and of
// batches that were gathered on a device.
func (b Batch) Labels() (Tensor, error) { return b.tensor("Labels", (*plan).labelsPart) }

// Column is a feature that is a tensor of its own: each one of the layout
// Columns, and lists and decoded values in every layout. Another name is an
// ErrMismatch, and so are batches that were gathered on a device.
func (b Batch) Column(name string) (Tensor, error) {
	return b.tensor("Column", func(p *plan) (int, string) { return p.columnPart(name) })
}

// tensor is the tensor of a part in the host's memory. find gives its number, or why
// there is none.
func (b Batch) tensor(call string, find func(*plan) (part int, why string)) (Tensor, error) {
	s, i, err := b.part(call, find)
	switch {
	case err != nil:
		return Tensor{}, err
	case s.loader.there != nil:
		return Tensor{}, device.Errorf(device.ErrMismatch, "", "dataloader.Batch."+call, "the batch was gathered in the device's memory: %sOnDevice has it", call)
	}
	return s.tensors[i], nil
}

// part is a batch's slot and the number of a part.
func (b Batch) part(call string, find func(*plan) (part int, why string)) (*slot, int, error) {
	s, err := b.alive(call)
	if err != nil {
		return nil, 0, err
	}
	i, why := find(s.loader.plan)
	if why != "" {
		return nil, 0, device.Errorf(device.ErrMismatch, "", "dataloader.Batch."+call, "%s", why)
	}
	return s, i, nil
}

// Release gives the batch's memory back to the ring. It may be called from any
// goroutine, and once: a second time is an ErrClosed.
func (b Batch) Release() error {
	if b.made {
		return device.Errorf(device.ErrMismatch, "", "dataloader.Batch.Release", "a Transform has no batch to release")
	}
	if b.slot == nil || !b.slot.loader.takeBack(b) {
		return device.Errorf(device.ErrClosed, "", "dataloader.Batch.Release", "the batch was released before")
	}
	return nil
}
