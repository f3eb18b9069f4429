package kernels

import (
	"context"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// Members is a set of values, built once, to be asked any number of times and
// from several goroutines: IsIn of a column that comes in many pieces, which
// would build the set for each of them.
type Members interface {
	// IsIn tells for each value of c whether it is in the set, as IsInFunc does.
	IsIn(ctx context.Context, s device.Stream, c *memory.Column) (*memory.Column, error)
	// Release gives the set back. No IsIn may run any more.
	Release()
}

// MembersFunc builds a set. It keeps a reference to the column.
type MembersFunc func(ctx context.Context, s device.Stream, set *memory.Column) (Members, error)

// Members builds the set of a column's values, to be asked by its IsIn: that is
// the IsIn of this backend, with the set given beforehand. After Release the set
// answers ErrClosed.
func (b *Backend) Members(ctx context.Context, s device.Stream, set *memory.Column) (m Members, err error) {
	const call = "members"
	defer b.guard(call, &err)
	if set == nil {
		return nil, b.fail(device.ErrMismatch, call, "the set is missing")
	}
	if err := b.checkKeys(ctx, s, call, b.Set.IsIn.Func != nil, b.Set.IsIn.Types, []*memory.Column{set}); err != nil {
		return nil, err
	}
	var inner Members
	if e := b.Set.Members; e.Func != nil && e.Types.Has(set.Type().ID()) {
		inner, err = e.Func(ctx, s, set)
	} else {
		inner = &listed{b.Set.IsIn.Func, set.Retain()}
	}
	if err != nil {
		return nil, err
	}
	return &checkedMembers{backend: b, members: inner, typ: set.Type()}, nil
}

// listed is a set where the backend builds none: IsIn builds it at each call.
type listed struct {
	isIn IsInFunc
	set  *memory.Column
}

func (l *listed) IsIn(ctx context.Context, s device.Stream, c *memory.Column) (*memory.Column, error) {
	return l.isIn(ctx, s, c, l.set)
}

func (l *listed) Release() { l.set.Release() }

// checkedMembers stands between callers and a backend's set.
type checkedMembers struct {
	backend *Backend
	members Members
	typ     arrow.DataType
	closed  atomic.Bool
}

func (m *checkedMembers) IsIn(ctx context.Context, s device.Stream, c *memory.Column) (mask *memory.Column, err error) {
	const call = "is_in"
	b := m.backend
	defer b.guard(call, &err)
	if m.closed.Load() {
		return nil, b.fail(device.ErrClosed, call, "the set was released")
	}
	if c == nil {
		return nil, b.fail(device.ErrMismatch, call, "the values or the set are missing")
	}
	if err := b.checkKeys(ctx, s, call, true, b.Set.IsIn.Types, []*memory.Column{c}); err != nil {
		return nil, err
	}
	if !arrow.TypeEqual(c.Type(), m.typ) {
		return nil, b.fail(device.ErrMismatch, call, "values of type %s, a set of %s", c.Type(), m.typ)
	}
	return m.members.IsIn(ctx, s, c)
}

func (m *checkedMembers) Release() {
	if !m.closed.Swap(true) {
		m.members.Release()
	}
}
