package dataloader

import (
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
}

func (m *meter) given(rows int64) {
	m.batches.Add(1)
	m.rows.Add(rows)
}

// ready notes how many batches waited when one was asked for.
func (m *meter) ready(n int64) {
	m.looks.Add(1)
	m.fill.Add(n)
}

// Stats are the figures of a loader since it was made.
type Stats struct {
	Batches, Rows int64         // given out
	Skipped       int64         // rows that SkipBad left out, of batches that are made
	Elapsed       time.Duration // since New
	RowsPerSecond float64       // over Elapsed, time in which nobody asked included
	Gather        time.Duration // of all workers together, in the source's Read
	Transform     time.Duration // likewise, in Options.Transform
	ProducerWait  time.Duration // likewise, waiting for room in the ring
	ConsumerWait  time.Duration // in Next, waiting for a batch
	Fill          float64       // batches that waited when one was asked for, on average
	Ring          int64         // bytes of the ring's batches, taken once by New
	Spare         int64         // bytes that the source arranged its data in
	// Bound is the stage that bounds the loader: "consumer" where who uses the
	// batches is slower than they are made, else "gather" or "transform",
	// whichever takes longer; "" before the first batch.
	Bound string
}

// Stats gives the figures of this moment.
func (l *Loader) Stats() Stats {
	m := &l.meter
	s := Stats{
		Batches: m.batches.Load(), Rows: m.rows.Load(), Skipped: m.skipped.Load(), Elapsed: time.Since(m.start),
		Gather: m.gather.get(), Transform: m.transform.get(), ProducerWait: m.producer.get(), ConsumerWait: m.consumer.get(),
		Spare: l.spare,
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
	switch workers := max(1, l.options.Workers); {
	case s.Batches == 0:
	case l.options.Workers == InCaller && s.Gather+s.Transform < s.Elapsed/2, l.options.Workers > 0 && s.ProducerWait/time.Duration(workers) > s.ConsumerWait:
		s.Bound = "consumer"
	case s.Transform > s.Gather:
		s.Bound = "transform"
	default:
		s.Bound = "gather"
	}
	return s
}
