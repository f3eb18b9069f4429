package dataloader

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// total is time that several goroutines add to.
type total struct{ ns atomic.Int64 }

func (t *total) since(begin time.Time) { t.ns.Add(int64(time.Since(begin))) }

func (t *total) get() time.Duration { return time.Duration(t.ns.Load()) }

// meter counts what a loader does.
type meter struct {
	start                                 time.Time
	batches, rows, looks, fill, skipped   atomic.Int64
	gather, transform, producer, consumer total
	copying                               total
	passing, idle                         total // between gathering and evaluating
}

func (m *meter) given(rows, leftOut int64) {
	m.batches.Add(1)
	m.rows.Add(rows)
	m.skipped.Add(leftOut)
}

// ready notes how many batches waited when one was asked for.
func (m *meter) ready(n int64) {
	m.looks.Add(1)
	m.fill.Add(n)
}

// Stats are the figures of a loader since it was made.
type Stats struct {
	Batches, Rows int64         // given out
	Skipped       int64         // rows that SkipBad left out of these batches
	Elapsed       time.Duration // since New
	RowsPerSecond float64       // over Elapsed, time in which nobody asked included
	Read          time.Duration // of all decoders together, in reading files or waiting for a stream
	Decode        time.Duration // likewise, in decoding
	DecodeWait    time.Duration // of all workers together, waiting for what is decoded
	Gather        time.Duration // likewise, in making tensors of rows
	Transform     time.Duration // likewise, in expressions and Options.Transform
	Copy          time.Duration // likewise, in copies to the device and waiting for them
	ProducerWait  time.Duration // likewise, waiting for room in the ring
	// Waits between the stages: of who reads files, for room, and of who decodes, for what
	// is being read; of workers, for who evaluates expressions and Options.Transform, and of
	// these, for workers. The last two are 0 where there is nothing to evaluate.
	ReadRoomWait, ReadWait, GatherRoomWait, TransformWait time.Duration

	ConsumerWait time.Duration // in Next, waiting for a batch
	Fill         float64       // batches that waited when one was asked for, on average
	Ring         int64         // bytes of the ring's batches, taken once by New
	Spare        int64         // bytes that the source arranged its data in
	// Bound is the stage that bounds the loader: "consumer" where who uses the
	// batches is slower than they are made; "read" or "decode" where workers wait for
	// pieces longer than they do anything else; else "gather", "transform" or "copy",
	// whichever takes longest; "" before the first batch.
	Bound string
	// Order is what the order of the rows is: "shuffled by rows", say, or of
	// Options.Order what that says of itself.
	Order string
}

// Stats gives the figures of this moment.
func (l *Loader) Stats() Stats {
	m := &l.meter
	s := Stats{
		Batches: m.batches.Load(), Rows: m.rows.Load(), Skipped: m.skipped.Load(), Elapsed: time.Since(m.start),
		Gather: m.gather.get(), Transform: m.transform.get(), Copy: m.copying.get(), ProducerWait: m.producer.get(), ConsumerWait: m.consumer.get(),
		GatherRoomWait: m.passing.get(), TransformWait: m.idle.get(), Spare: l.spare, Order: l.sampler.orderName(),
	}
	for _, slot := range l.slots {
		s.Ring += slot.buffer.Len() + 8*int64(len(slot.rows))
	}
	if s.Elapsed > 0 {
		s.RowsPerSecond = float64(s.Rows) / s.Elapsed.Seconds()
	}
	if n := m.looks.Load(); n > 0 {
		s.Fill = float64(m.fill.Load()) / float64(n)
	}
	if r, ok := l.reader.(staged); ok {
		of := r.stages()
		s.Read, s.Decode, s.DecodeWait = of.read, max(0, of.load-of.read), of.wait
		s.ReadRoomWait, s.ReadWait = of.roomWait, of.readWait
		s.Gather, s.Transform = max(0, s.Gather-of.wait-of.transform), s.Transform+of.transform
	}
	if s.Batches > 0 {
		s.Bound = s.bound(l.options.Workers)
	}
	return s
}

// String is a report of some lines: how fast batches came, which stage bounds them, and
// what each stage and each side took or waited.
func (s Stats) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d batches, %d rows in %v: %.0f rows/s", s.Batches, s.Rows, s.Elapsed.Round(time.Millisecond), s.RowsPerSecond)
	if s.Skipped > 0 {
		fmt.Fprintf(&b, ", %d rows left out", s.Skipped)
	}
	if s.Bound != "" {
		fmt.Fprintf(&b, "; bound by: %s", s.Bound)
	}
	b.WriteString("\nall workers together:")
	for _, one := range []struct {
		name string
		took time.Duration
	}{
		{"read", s.Read}, {"wait for reading", s.ReadWait}, {"decode", s.Decode}, {"wait for decoding", s.DecodeWait}, {"gather", s.Gather},
		{"wait for who transforms", s.GatherRoomWait}, {"transform", s.Transform}, {"copy", s.Copy},
	} {
		if one.took > 0 {
			fmt.Fprintf(&b, " %s %v,", one.name, one.took.Round(time.Microsecond))
		}
	}
	fmt.Fprintf(&b, " wait for room %v\nconsumer: waited %v, %.1f batches ready when one was asked for\nmemory: ring %d bytes, arranged data %d bytes",
		s.ProducerWait.Round(time.Microsecond), s.ConsumerWait.Round(time.Microsecond), s.Fill, s.Ring, s.Spare)
	if s.Order != "" {
		fmt.Fprintf(&b, "\norder of the rows: %s", s.Order)
	}
	return b.String()
}

// bound is the stage that takes longest.
func (s *Stats) bound(workers int) string {
	busy := s.DecodeWait + s.Gather + s.Transform + s.Copy
	if workers == InCaller && busy < s.Elapsed/2 || workers > 0 && s.ProducerWait/time.Duration(workers) > s.ConsumerWait {
		return "consumer"
	}
	longest, bound := s.Gather, "gather"
	for name, t := range map[string]time.Duration{"transform": s.Transform, "copy": s.Copy, "decode": s.DecodeWait} {
		if t > longest {
			longest, bound = t, name
		}
	}
	if bound == "decode" && s.Read > s.Decode {
		return "read"
	}
	return bound
}

// stages is what a Reader did, all goroutines together.
type stages struct {
	read, load time.Duration // load is reading and decoding
	wait       time.Duration // of Read, for pieces
	readWait   time.Duration // of decoders, for what is read
	roomWait   time.Duration // of readers, for room
	transform  time.Duration // of Read, in expressions
}

// staged is a Reader that tells of its stages.
type staged interface{ stages() stages }

// stages is that of a Reader, if it tells.
func stagesOf(r Reader) (s stages) {
	if of, ok := r.(staged); ok {
		s = of.stages()
	}
	return s
}
