package dataloader

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// DeviceTensor is a tensor of a batch in a device's memory. Its Data and Valid
// are nil: the Size bytes of its elements begin Offset bytes into Buffer, and the
// ValidSize bytes of the mask, which are none where there is no mask, ValidOffset bytes.
type DeviceTensor struct {
	Tensor
	Buffer              *memory.Buffer
	Offset, ValidOffset int64
	Size, ValidSize     int64
}

// toDevice copies batches to a device: a loader's, when Options.Device is one.
type toDevice struct {
	device device.Device
	stream device.Stream // of all copies
}

// deviceSlot is the device's half of a slot.
type deviceSlot struct {
	buffer *memory.Buffer
	copied device.Event   // the last batch is there
	read   device.Event   // who read it before is done
	waits  bool           // for read, before it is written
	rows   *memory.Column // of batches that are gathered there the numbers of their rows, else nil
}

// openDevice makes the stream that batches are copied on, where Options.Device
// asks for it.
func (l *Loader) openDevice() error {
	d := l.options.Device
	if d == nil {
		return nil
	}
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	l.device = &toDevice{d, s}
	return nil
}

// addDevice gives a slot its half on the device.
func (l *Loader) addDevice(s *slot) (err error) {
	if l.device == nil {
		return nil
	}
	d := &deviceSlot{}
	size, _ := l.offsetsOf(len(l.plan.parts))
	if d.buffer, err = memory.New(l.device.device.Memory(), size); err != nil {
		return err
	}
	s.device = d
	if l.there != nil {
		if err := l.there.prepare(s); err != nil {
			return err
		}
	}
	if d.copied, err = l.device.device.NewEvent(); err != nil {
		return err
	}
	d.read, err = l.device.device.NewEvent()
	return err
}

// ringMemory takes memory for a slot: pinned where it was asked for, and plain
// memory, with one warning, where there is no more of that.
func (l *Loader) ringMemory(size int64) (*memory.Buffer, error) {
	if l.options.Pinned == nil {
		return memory.New(l.options.Memory, size)
	}
	b, err := memory.New(l.options.Pinned, size)
	if err == nil || !errors.Is(err, device.ErrOutOfMemory) {
		return b, err
	}
	if !l.unpinned {
		l.unpinned = true
		l.options.Warn("dataloader: the rest of the ring is in plain memory, from which copies to the device are slower", err)
	}
	return memory.New(l.options.Memory, size)
}

// warn is Options.Warn where there is none.
func warn(text string, err error) { slog.Warn(text, "error", err) }

// upload begins to copy a slot's batch, after who read the last one there.
func (l *Loader) upload(s *slot) error {
	d := s.device
	if d == nil || l.there != nil {
		return nil
	}
	defer l.meter.copying.since(time.Now())
	if err := l.after(d); err != nil {
		return err
	}
	if err := l.device.stream.Copy(d.buffer, 0, s.buffer, 0, s.buffer.Len()); err != nil {
		return err
	}
	return l.device.stream.Record(d.copied)
}

// after lets what is written to a slot's half on the device wait for who read the last
// batch there.
func (l *Loader) after(d *deviceSlot) error {
	if !d.waits {
		return nil
	}
	if err := l.device.stream.WaitEvent(d.read); err != nil {
		return err
	}
	d.waits = false
	return nil
}

// settle waits until a slot's last batch is copied, so that its memory may be
// written.
func (l *Loader) settle(ctx context.Context, s *slot) error {
	if s.device == nil {
		return nil
	}
	defer l.meter.copying.since(time.Now())
	return s.device.copied.Wait(ctx)
}

// closeSlot gives a slot's memory back.
func (l *Loader) closeSlot(s *slot) {
	if d := s.device; d != nil {
		if d.read != nil && d.waits {
			_ = d.read.Wait(context.Background()) // a failure there is its stream's, and is told there
		}
		for _, e := range []device.Event{d.copied, d.read} {
			if e != nil {
				_ = e.Close() // which has nothing to say
			}
		}
		d.buffer.Release()
		d.rows.Release()
	}
	s.buffer.Release()
}

// closeDevice waits for the copies and ends their stream.
func (l *Loader) closeDevice() error {
	if l.device == nil {
		return nil
	}
	return l.device.stream.Close()
}

// Ready lets a stream of the device that the loader copies to wait until the
// batch is there: what is given to the stream afterwards may read it.
func (b Batch) Ready(s device.Stream) error {
	slot, err := b.onDevice("Ready")
	if err != nil {
		return err
	}
	return s.WaitEvent(slot.device.copied)
}

// Wait waits until the batch is in the device's memory.
func (b Batch) Wait(ctx context.Context) error {
	slot, err := b.onDevice("Wait")
	if err != nil {
		return err
	}
	return slot.device.copied.Wait(ctx)
}

func (b Batch) onDevice(call string) (*slot, error) {
	s, err := b.alive(call)
	if err != nil {
		return nil, err
	}
	if s.device == nil {
		return nil, device.Errorf(device.ErrMismatch, "", "dataloader.Batch."+call, "the loader has no device")
	}
	return s, nil
}

// FeaturesOnDevice is Features in the device's memory.
func (b Batch) FeaturesOnDevice() (DeviceTensor, error) {
	return b.there("FeaturesOnDevice", (*plan).featuresPart)
}

// LabelsOnDevice is Labels in the device's memory.
func (b Batch) LabelsOnDevice() (DeviceTensor, error) {
	return b.there("LabelsOnDevice", (*plan).labelsPart)
}

// ColumnOnDevice is Column in the device's memory.
func (b Batch) ColumnOnDevice(name string) (DeviceTensor, error) {
	return b.there("ColumnOnDevice", func(p *plan) (int, string) { return p.columnPart(name) })
}

// there is a tensor of the batch on the device.
func (b Batch) there(call string, find func(*plan) (part int, why string)) (DeviceTensor, error) {
	s, i, err := b.part(call, find)
	if err != nil {
		return DeviceTensor{}, err
	}
	if _, err := b.onDevice(call); err != nil {
		return DeviceTensor{}, err
	}
	d := DeviceTensor{Tensor: s.tensors[i], Buffer: s.device.buffer}
	d.Offset, d.ValidOffset = s.loader.offsetsOf(i)
	if s.loader.there != nil {
		d.Size, d.ValidSize = s.loader.plan.parts[i].bytes(d.Rows)
	} else {
		d.Size, d.ValidSize = int64(len(d.Data)), int64(len(d.Valid))
	}
	d.Data, d.Valid = nil, nil
	return d, nil
}

// ReleaseAfter is Release for a batch that work of a stream of the device still
// reads: its memory there is written anew only when what was given to the stream
// so far is done. It does not wait.
func (b Batch) ReleaseAfter(s device.Stream) error {
	return b.releaseAfter("ReleaseAfter", s.Record)
}

// ReleaseAfterQueue is ReleaseAfter for work of a queue that another library made
// in the device's context: a CUstream. Devices without such queues are an
// ErrUnsupported.
func (b Batch) ReleaseAfterQueue(queue uintptr) error {
	const call = "ReleaseAfterQueue"
	slot, err := b.onDevice(call)
	if err != nil {
		return err
	}
	d, ok := slot.loader.device.device.(device.Foreign)
	if !ok {
		return device.Errorf(device.ErrUnsupported, slot.loader.device.device.Name(), "dataloader.Batch."+call, "the device has no queues of other libraries")
	}
	return b.releaseAfter(call, func(e device.Event) error { return d.RecordOn(queue, e) })
}

// releaseAfter releases a batch whose readers are done where record marks it.
func (b Batch) releaseAfter(call string, record func(device.Event) error) error {
	slot, err := b.onDevice(call)
	if err != nil {
		return err
	}
	if b.made {
		return b.Release()
	}
	if err := record(slot.device.read); err != nil {
		return err
	}
	slot.device.waits = true
	return b.Release()
}
