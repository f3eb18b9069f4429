package dataloader

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/volley-go/volley/device"
)

// State is how far the ranks of a loader have come together: what Resume goes
// on from. It is small enough to go into any checkpoint, as JSON say. All ranks
// have the same State after the same number of batches, so that of any rank
// serves them all.
type State struct {
	Seed     uint64 `json:"seed"`
	Epoch    int64  `json:"epoch"`
	Position int64  `json:"position"` // rows of the epoch's order that all ranks together have been given
	// Plan is a hash of what must stay the same, in parts, so that Resume can say
	// which of them has changed.
	Plan string `json:"plan"`
}

// orderVersion changes when an order.Permutation does: a state goes with its order.
const orderVersion = 1

// planParts are the parts of State.Plan, four bytes each.
var planParts = []string{
	"the number of rows", "the names or types of the columns", "the tensors' layout, encodings, types or masks", "the order", "the windows",
	"the expressions, or the function of batches", "the values",
}

// hash is the plan of a loader. It reads all values of its columns.
func (l *Loader) hash(ctx context.Context) (string, error) {
	sum := func(text string) uint32 { return crc32.ChecksumIEEE([]byte(text)) }
	schema, layout := "", fmt.Sprint(l.plan.labels)
	for i, c := range l.plan.columns {
		schema += fmt.Sprintf("%q %v;", l.plan.names[i], l.source.Schema().Field(c).Type)
	}
	for _, p := range l.plan.parts {
		layout += fmt.Sprintf(";%d %v %v %v", len(p.Columns), p.Type, p.ColumnMajor, p.Mask)
		for i := range p.Columns {
			layout += p.encoding(i).text()
		}
	}
	values, err := l.source.Fingerprint(ctx, l.plan.columns)
	if err != nil {
		return "", err
	}
	var bytes []byte
	for _, n := range []uint32{
		sum(fmt.Sprint(l.source.NumRows())), sum(schema), sum(layout), sum(l.orderText()), sum(windowText(l.source)), sum(madeText(l.source)), values,
	} {
		bytes = binary.BigEndian.AppendUint32(bytes, n)
	}
	return hex.EncodeToString(bytes), nil
}

// orderText is what the order of an epoch depends on beside rows and seed.
func (l *Loader) orderText() string {
	if o := l.sampler.Order; o != nil {
		return fmt.Sprint(o.Hash(), orderVersion)
	}
	return fmt.Sprint(l.sampler.Shuffle, orderVersion)
}

// windowText tells the windows of a source apart.
func windowText(s Source) string {
	if w, ok := s.(*windowed); ok {
		return fmt.Sprint(w.window)
	}
	return ""
}

// madeText tells apart what a source makes of the columns of the one below.
func madeText(s Source) string {
	switch s := s.(type) {
	case *windowed:
		return madeText(s.Source)
	case *derived:
		return madeText(s.Source) + "derived:" + s.text
	case *mapped:
		return madeText(s.Source) + "mapped:" + s.text()
	}
	return ""
}

// State is where the loader stands: all batches that Next has given out are
// seen, those that wait in the ring are not. After the last batch of an epoch it
// is the beginning of the next. The first call
// reads all values, to hash them; a closed loader of which there was none has no
// State, an ErrClosed.
func (l *Loader) State(ctx context.Context) (State, error) {
	if err := l.lock(ctx); err != nil {
		return State{}, err
	}
	defer l.unlock()
	if err := l.hashed(ctx); err != nil {
		return State{}, err
	}
	s := State{Seed: l.sampler.Seed, Epoch: l.epoch, Plan: l.planHash}
	if l.step < l.sampler.globalSteps(l.from) {
		s.Position = l.sampler.after(l.from, l.step)
	} else {
		s.Epoch++
	}
	return s, nil
}

// hashed makes sure that the plan's hash is known.
func (l *Loader) hashed(ctx context.Context) (err error) {
	if l.planHash != "" {
		return nil
	}
	if l.isClosed() {
		return closedError()
	}
	l.planHash, err = l.hash(ctx)
	return err
}

// resume takes the loader to a state before it has begun.
func (l *Loader) resume(ctx context.Context, s State) error {
	fail := func(format string, args ...any) error {
		return device.Errorf(device.ErrMismatch, "", "dataloader.Resume", format, args...)
	}
	if s.Epoch < 0 || s.Position < 0 {
		return fail("a state of epoch %d and position %d", s.Epoch, s.Position)
	}
	if err := l.hashed(ctx); err != nil {
		return err
	}
	then, err := hex.DecodeString(s.Plan)
	if err != nil || len(then) != 4*len(planParts) {
		return fail("%q is no plan of this version", s.Plan)
	}
	now, err := hex.DecodeString(l.planHash)
	if err != nil {
		return fail("%q is no plan: %v", l.planHash, err)
	}
	var changed []string
	for i, what := range planParts {
		if string(then[4*i:4*i+4]) != string(now[4*i:4*i+4]) {
			changed = append(changed, what)
		}
	}
	if s.Seed != l.sampler.Seed {
		changed = append(changed, fmt.Sprintf("the seed (%d, now %d)", s.Seed, l.sampler.Seed))
	}
	if len(changed) > 0 {
		return fail("since the state was taken there have changed: %s", strings.Join(changed, ", "))
	}
	if s.Position >= max(1, l.sampler.Rows) {
		return fail("position %d of %d rows", s.Position, l.sampler.Rows)
	}
	l.epoch, l.from = s.Epoch, s.Position
	if l.sampler.globalSteps(l.from) == 0 { // Drop, and more ranks than before
		l.epoch, l.from = l.epoch+1, 0
	}
	l.first, l.firstFrom = l.epoch, l.from
	return nil
}
