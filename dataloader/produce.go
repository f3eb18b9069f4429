package dataloader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table/storage"
)

// work makes batches until there are no more or the loader is closed. A worker
// has a slot before it draws a ticket: so the tickets that were drawn and not
// given out follow each other, are no more than there are slots, and the lowest
// of them never waits for memory.
func (l *Loader) work() {
	for {
		s := l.vacant()
		if s == nil {
			return
		}
		t := l.ticket.Add(1) - 1
		if _, _, _, ok := l.place(t); !ok {
			l.free <- s
			return
		}
		l.deliver(s, t)
	}
}

// vacant waits for a slot that nobody uses; nil when the loader is closed.
func (l *Loader) vacant() *slot {
	select {
	case <-l.ctx.Done():
		return nil
	case s := <-l.free:
		return s
	default:
	}
	defer l.meter.producer.since(time.Now())
	select {
	case <-l.ctx.Done():
		return nil
	case s := <-l.free:
		return s
	}
}

// deliver gathers a batch and hands it on, be it an error: to who evaluates and
// transforms, where that is to be done, or over. It does so also when a decode function
// of the user's ends the goroutine.
func (l *Loader) deliver(s *slot, ticket int64) {
	if l.gathered != nil {
		defer l.passOn(ticketed{s, ticket})
		l.gather(l.ctx, s, ticket)
		return
	}
	defer l.handOver(s, ticket)
	l.produce(l.ctx, s, ticket)
}

// handOver puts a batch where Next looks for it.
func (l *Loader) handOver(s *slot, ticket int64) {
	l.made.Add(1)
	l.ready[ticket%int64(len(l.ready))] <- s
}

// passOn waits until there is room for a batch that is to be evaluated, or until the loader
// is closed.
func (l *Loader) passOn(t ticketed) {
	select {
	case l.gathered <- t:
		return
	default:
	}
	defer l.meter.passing.since(time.Now())
	select {
	case l.gathered <- t:
	case <-l.ctx.Done():
	}
}

// ticketed is a slot with the batch of a ticket in it.
type ticketed struct {
	slot   *slot
	ticket int64
}

// transforms finishes batches that are gathered, until the loader is closed.
func (l *Loader) transforms() {
	for {
		begin := time.Now()
		select {
		case <-l.ctx.Done():
			return
		case t := <-l.gathered:
			l.meter.idle.since(begin)
			l.transformed(t)
		}
	}
}

// transformed finishes a batch and hands it over, also when a function of the user's ends
// the goroutine.
func (l *Loader) transformed(t ticketed) {
	defer l.handOver(t.slot, t.ticket)
	l.evaluate(l.ctx, t.slot, t.ticket)
	l.finish(l.ctx, t.slot)
}

// place is where in which epoch a ticket's batch is, if there is one.
func (l *Loader) place(ticket int64) (epoch, from, step int64, ok bool) {
	epoch, from, step = l.first, l.firstFrom, ticket
	if first := l.sampler.Steps(from); step >= first {
		each := l.sampler.Steps(0)
		if each == 0 {
			return 0, 0, 0, false
		}
		epoch, from, step = epoch+1+(step-first)/each, 0, (step-first)%each
	}
	return epoch, from, step, l.options.Epochs == 0 || epoch < l.options.Epochs
}

var errGone = errors.New("ended its goroutine")

// produce makes the batch of a ticket in a slot, or leaves an error there.
func (l *Loader) produce(ctx context.Context, s *slot, ticket int64) {
	l.gather(ctx, s, ticket)
	l.evaluate(ctx, s, ticket)
	l.finish(ctx, s)
}

// gather reads the rows of a ticket's batch. Of a reader of two steps it takes the first.
func (l *Loader) gather(ctx context.Context, s *slot, ticket int64) {
	var from int64
	s.epoch, from, s.step, _ = l.place(ticket)
	s.err, s.ending, s.leftOut, s.position = nil, nil, 0, l.sampler.after(from, s.step)
	stage, done := "read", false
	defer func() { s.ended(stage, done, recover()) }()
	s.n, s.padded = l.sampler.Fill(s.rows, s.epoch, from, s.step)
	if s.err = l.settle(ctx, s); s.err == nil {
		begin := time.Now()
		s.err = l.read(ctx, s, ticket)
		l.meter.gather.since(begin)
		if s.err != nil && isMapped(s.err) {
			stage = "transform"
		}
	}
	done = true
}

// evaluate takes the second step of a batch, where the reader has two.
func (l *Loader) evaluate(ctx context.Context, s *slot, ticket int64) {
	if l.twoStep == nil || s.err != nil {
		return
	}
	stage, done := "read", false
	defer func() { s.ended(stage, done, recover()) }()
	begin := time.Now()
	s.err = l.evaluated(ctx, s, ticket)
	l.meter.gather.since(begin)
	if s.err != nil && isMapped(s.err) {
		stage = "transform"
	}
	done = true
}

// evaluated makes a slot's tensors of what was read. Where rows are left out for it the
// others are read again.
func (l *Loader) evaluated(ctx context.Context, s *slot, ticket int64) error {
	for {
		var err error
		if later := s.later; later != nil {
			s.later = nil
			s.height, err = later.evaluate(ctx, s.room)
		}
		if err == nil {
			l.finishParts(s)
			return nil
		}
		if !l.leaveOut(s, err) {
			return err
		}
		if err := l.read(ctx, s, ticket); err != nil {
			return err
		}
	}
}

// finish transforms a batch and begins to copy it to the device.
func (l *Loader) finish(ctx context.Context, s *slot) {
	if s.err != nil {
		return
	}
	stage, done := "transform", false
	defer func() { s.ended(stage, done, recover()) }()
	if l.options.Transform != nil {
		begin := time.Now()
		s.err = l.options.Transform(ctx, Batch{s, s.lease.Add(1), true})
		l.meter.transform.since(begin)
	}
	if s.err == nil {
		stage = "copy"
		s.err = l.upload(s)
	}
	done = true
}

// ended notes how a stage has ended: with a panic, without being done, or else as
// err says.
func (s *slot) ended(stage string, done bool, panicked any) {
	err, is := panicked.(error)
	switch {
	case is:
		s.err = fmt.Errorf("panicked: %w", err)
	case panicked != nil:
		s.err = fmt.Errorf("panicked: %v", panicked)
	case !done:
		s.err = errGone
	}
	if s.lease.Load()%2 == 1 {
		s.lease.Add(1)
	}
	if s.err != nil {
		s.err = s.failure(stage, s.err)
	}
}

// checker is a Reader whose data may change behind its back.
type checker interface {
	// Check is an error where it has.
	Check(ctx context.Context) error
}

// read fills a slot's tensors with its rows.
func (l *Loader) read(ctx context.Context, s *slot, ticket int64) error {
	if c, ok := l.reader.(checker); ok && s.step == 0 {
		if err := c.Check(ctx); err != nil {
			return err
		}
	}
	for {
		if s.height = s.n; !l.resizing {
			l.spread(s, s.n)
		}
		err := l.readRows(ctx, s, ticket)
		if err == nil && l.twoStep == nil {
			l.finishParts(s)
		}
		if err == nil || !l.leaveOut(s, err) && !l.cutShort(s, err) {
			return err
		}
	}
}

// cutShort leaves a batch those rows that can be read before an error, which Next returns behind it. It reports false where there is
// none, where the error is none of a source that failed or a damaged file, and where all batches have to be whole.
func (l *Loader) cutShort(s *slot, err error) bool {
	bad := badOf(err)
	if len(bad) == 0 || l.sampler.Remainder == Drop || l.options.SkipBad && !isCut(err) {
		return false
	}
	switch {
	case isCut(err):
	case errors.Is(err, storage.ErrFormat): // what lies behind the damage comes behind the error
		from := bad[0]
		bad = bad[:0:0]
		for at := from; int64(at) < s.n; at++ {
			bad = append(bad, at)
		}
	default:
		return false
	}
	if int64(len(bad)) == s.n {
		return false
	}
	if s.ending == nil {
		s.ending = s.failure("read", err)
	}
	left := s.leftOut
	s.leaveOut(bad)
	s.leftOut = left
	return true
}

// failure is the error of a batch.
func (s *slot) failure(stage string, err error) error {
	return &device.Error{Call: "dataloader", Text: fmt.Sprintf("batch %d of epoch %d, at position %d: %s: %v", s.step, s.epoch, s.position, stage, err), Cause: err}
}

// finishParts brings a slot's lists into their form.
func (l *Loader) finishParts(s *slot) {
	for i := range l.plan.parts {
		l.plan.parts[i].finish(&s.tensors[i])
	}
}

// leaveOut leaves out the rows that an error is about, and reports false where that is not
// asked for or not possible.
func (l *Loader) leaveOut(s *slot, err error) bool {
	if !l.options.SkipBad || isCut(err) {
		return false
	}
	bad := badOf(err)
	if len(bad) == 0 {
		return false
	}
	s.leaveOut(bad)
	return true
}

// readRows reads the rows of a slot's list.
func (l *Loader) readRows(ctx context.Context, s *slot, ticket int64) (err error) {
	if l.there != nil {
		return l.there.gather(ctx, l, s)
	}
	if l.twoStep != nil {
		s.later, err = l.twoStep.gather(ctx, ticket, s.rows[:s.n], s.tensors)
		return err
	}
	if r, ok := l.reader.(ticketReader); ok {
		return r.readTicket(ctx, ticket, s.rows[:s.n], s.tensors)
	}
	return l.reader.Read(ctx, s.rows[:s.n], s.tensors)
}

// rowsOf are the rows of a ticket's batch, nil where there is none.
func (l *Loader) rowsOf(room []int64, ticket int64) []int64 {
	epoch, from, step, ok := l.place(ticket)
	if !ok {
		return nil
	}
	n, _ := l.sampler.Fill(room, epoch, from, step)
	return room[:n]
}

// badOf are the positions that an error is about, if others can be read.
func badOf(err error) []int {
	var bad *BadRows
	if errors.As(err, &bad) {
		return bad.Positions
	}
	return nil
}

// leaveOut takes rows, whose positions rise, out of a slot's list.
func (s *slot) leaveOut(positions []int) {
	kept, whole := int64(0), s.n-s.padded
	for i, row := range s.rows[:s.n] {
		if len(positions) > 0 && positions[0] == i {
			positions = positions[1:]
			if int64(i) < whole {
				s.leftOut++
			} else {
				s.padded--
			}
			continue
		}
		s.rows[kept] = row
		kept++
	}
	s.n = kept
}

// finish makes offsets of the lengths of lists, and brings items together that
// are not to be padded.
func (p *Part) finish(t *Tensor) {
	if t.Offsets == nil {
		return
	}
	ragged, e := p.encoding(0).isRagged(), p.width()
	t.Offsets[0] = 0
	for i := range t.Rows {
		n, at, to := t.Offsets[i+1], i*t.RowStride, t.Offsets[i]
		if ragged {
			copy(t.Data[to*e:(to+n)*e], t.Data[at*e:(at+n)*e])
			if t.Valid != nil {
				copy(t.Valid[to:to+n], t.Valid[at:at+n])
			}
		}
		t.Offsets[i+1] = to + n
	}
	if ragged {
		n := t.Offsets[t.Rows]
		t.Columns, t.RowStride, t.Data = 0, 0, t.Data[:n*e]
		if t.Valid != nil {
			t.Valid = t.Valid[:n]
		}
	}
}
