package dataloader

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// Column is a column by its expression: expr.Col("delay").Sub(9.4).Div(38) as the
// normalised delay, Coalesce(expr.Col("x"), 0) for x with its nulls filled,
// expr.Apply for a kernel of the user's own.
type Column struct {
	Name string
	Expr *expr.Expr
}

// Derive is a source whose columns are expressions over those of another. They
// are evaluated batch by batch, on the rows that a batch has, so nothing is held
// beside the source, and beside the workers, which read the rows of the next batches then. b is a backend on the host, on which they are evaluated. The
// columns that are read must be numbers; a value that an expression cannot make
// is the error of its batch.
func Derive(b *kernels.Backend, s Source, columns ...Column) (Source, error) {
	return derive("dataloader.Derive", b, s, nil, columns)
}

// DeriveBeside is Derive with the source's own columns, of any type, before the
// derived ones. Those that a derived one has the name of are left out.
func DeriveBeside(b *kernels.Backend, s Source, columns ...Column) (Source, error) {
	const call = "dataloader.DeriveBeside"
	if s == nil {
		return nil, device.Errorf(device.ErrMismatch, "", call, "there is no source")
	}
	var kept []int
	for i, f := range s.Schema().Fields() {
		if !slices.ContainsFunc(columns, func(c Column) bool { return c.Name == f.Name }) {
			kept = append(kept, i)
		}
	}
	return derive(call, b, s, kept, columns)
}

func derive(call string, b *kernels.Backend, s Source, kept []int, columns []Column) (Source, error) {
	if b == nil || s == nil || len(columns) == 0 {
		return nil, device.Errorf(device.ErrMismatch, "", call, "there is no backend, no source or no column")
	}
	if p := b.Device.Place(); !p.HostAccessible() {
		return nil, device.Errorf(device.ErrUnsupported, p.String(), call, "expressions are evaluated on the host")
	}
	if err := checkResizing(s, "derived columns"); err != nil {
		return nil, err
	}
	d := &derived{Source: s, backend: b, kept: kept}
	var all []*expr.Expr
	for _, c := range columns {
		all = append(all, c.Expr)
	}
	var err error
	if d.bound, err = expr.BindAll(s.Schema(), all...); err != nil {
		return nil, err
	}
	var fields []arrow.Field
	for i, c := range columns {
		if slices.ContainsFunc(columns[:i], func(o Column) bool { return o.Name == c.Name }) {
			return nil, device.Errorf(device.ErrMismatch, "", call, "column %q is named twice", c.Name)
		}
		fields = append(fields, arrow.Field{Name: c.Name, Type: d.bound.TypeOf(i), Nullable: true})
		d.text += c.Expr.String() + ";"
	}
	d.made = arrow.NewSchema(fields, nil)
	var own []arrow.Field
	for _, i := range kept {
		own = append(own, s.Schema().Field(i))
	}
	d.schema = arrow.NewSchema(append(own, fields...), nil)
	for _, i := range d.bound.Reads() {
		f := s.Schema().Field(i)
		if numberOf(f.Type) == nil || f.Type.ID() == arrow.BOOL || f.Type.ID() == arrow.FLOAT16 {
			return nil, device.Errorf(device.ErrUnsupported, "", call, "column %q is of type %v: expressions of batches are over numbers, and not over float16", f.Name, f.Type)
		}
	}
	return d, nil
}

// derived is a source by expressions.
type derived struct {
	Source
	backend *kernels.Backend
	bound   *expr.Bound
	kept    []int         // columns of the source, which come first
	made    *arrow.Schema // of the expressions
	schema  *arrow.Schema
	text    string
}

// Schema is the kept columns and the expressions' names and types.
func (d *derived) Schema() *arrow.Schema { return d.schema }

// Fingerprint is that of all columns that are read.
func (d *derived) Fingerprint(ctx context.Context, columns []int) (uint32, error) {
	reads := slices.Clone(d.bound.Reads())
	for _, c := range columns {
		if c < len(d.kept) && !slices.Contains(reads, d.kept[c]) {
			reads = append(reads, d.kept[c])
		}
	}
	return d.Source.Fingerprint(ctx, reads)
}

// Open opens the columns that are kept and those that the expressions read, at
// once: a source may serve one reader.
func (d *derived) Open(ctx context.Context, m memory.Allocator, parts []Part, spare int64) (Reader, error) {
	r := &derivedReader{of: d, streams: newStreams(d.backend)}
	for _, p := range parts {
		r.split(p)
	}
	r.reads = len(r.inner)
	for _, i := range d.bound.Reads() {
		r.inner = append(r.inner, Part{Columns: []int{i}, Type: numberOf(d.Source.Schema().Field(i).Type), Mask: true})
	}
	var err error
	r.Reader, err = d.Source.Open(ctx, m, r.inner, spare)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// derivedReader evaluates expressions on what another reader gives.
type derivedReader struct {
	Reader
	of      *derived
	places  []sides
	parts   []Part // over the derived columns
	inner   []Part // of the source, and from reads on the columns that are read
	reads   int
	streams streams
	rooms   sync.Pool // of *derivedRoom
	spent   total     // in expressions
}

// stages are those of what is read, and the expressions.
func (r *derivedReader) stages() stages {
	s := stagesOf(r.Reader)
	s.transform += r.spent.get()
	return s
}

// Check looks whether the data is what it was.
func (r *derivedReader) Check(ctx context.Context) error {
	if c, ok := r.Reader.(checker); ok {
		return c.Check(ctx)
	}
	return nil
}

// Read reads the columns, evaluates, and puts the results in their tensors.
func (r *derivedReader) Read(ctx context.Context, rows []int64, to []Tensor) error {
	return bothSteps(ctx, r, -1, rows, to)
}

// gather reads what is of the source.
func (r *derivedReader) gather(ctx context.Context, ticket int64, rows []int64, to []Tensor) (gathered, error) {
	if len(to) != len(r.places) {
		return nil, device.Errorf(device.ErrMismatch, "", "dataloader", "%d tensors for %d parts", len(to), len(r.places))
	}
	if len(rows) == 0 {
		return nil, nil
	}
	room, ok := r.rooms.Get().(*derivedRoom)
	if !ok {
		k := len(r.inner) + len(r.parts)
		room = &derivedRoom{of: r, blocks: make([][]byte, k), masks: make([][]byte, k), made: make([]Tensor, len(r.parts))}
		room.tensors = make([]Tensor, len(r.inner))
	}
	n := int64(len(rows))
	inner, made := room.tensors, room.made
	room.to = to
	for i, h := range r.places {
		switch { // a part of one half is written in place
		case h.made < 0:
			inner[h.inner] = to[i]
		case h.inner < 0:
			made[h.made] = to[i]
		default:
			inner[h.inner] = room.tensor(h.inner, &r.inner[h.inner], n)
			made[h.made] = room.tensor(len(r.inner)+h.made, &r.parts[h.made], n)
		}
	}
	if err := room.read(ctx, r.Reader, ticket, r.inner, r.reads, rows); err != nil {
		r.rooms.Put(room)
		return nil, err
	}
	return room, nil
}

// drop gives back what was read.
func (o *derivedRoom) drop() {
	o.numberRoom.drop()
	o.of.rooms.Put(o)
}

// evaluate evaluates the expressions, and puts what is of the source and their results
// together.
func (o *derivedRoom) evaluate(ctx context.Context, _ func(int64) []Tensor) (int64, error) {
	r := o.of
	defer r.rooms.Put(o)
	if err := r.evaluate(ctx, o); err != nil {
		return 0, err
	}
	for i, h := range r.places {
		if h.made < 0 || h.inner < 0 {
			continue
		}
		for _, run := range h.runs {
			from := &o.tensors[h.inner]
			if run.made {
				from = &o.made[h.made]
			}
			copyColumns(&o.to[i], from, run.at, run.from, run.n)
		}
	}
	return o.rows, nil
}

// evaluate evaluates the expressions over what was read, and puts their results in the
// tensors of made.
func (r *derivedReader) evaluate(ctx context.Context, room *derivedRoom) (err error) {
	columns, err := r.columns(ctx, room)
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	if err != nil || len(room.made) == 0 {
		return err
	}
	s, err := r.streams.take()
	if err != nil {
		return err
	}
	defer r.streams.giveBack(s)
	defer r.spent.since(time.Now())
	d := r.of
	results, err := d.bound.EvalAll(ctx, d.backend, s, room.rows, columns)
	if err != nil {
		return err
	}
	batch, err := table.NewBatch(d.made, room.rows, results)
	if err == nil {
		err = s.Wait(ctx)
	}
	if err != nil {
		batch.Release()
		return err
	}
	t, err := table.NewTable(d.backend, d.made, []*table.Batch{batch})
	if err != nil {
		return err
	}
	defer t.Release()
	out, err := newTableReader(ctx, t, memory.Heap, r.parts, 0, nil)
	if err != nil {
		return err
	}
	defer out.Close()
	for int64(len(room.own)) < room.rows {
		room.own = append(room.own, int64(len(room.own)))
	}
	return out.Read(ctx, room.own[:room.rows], room.made)
}

// columns gives the columns that the expressions read; others are nil.
func (r *derivedReader) columns(ctx context.Context, room *derivedRoom) ([]*memory.Column, error) {
	columns := make([]*memory.Column, r.of.Source.Schema().NumFields())
	made, err := room.columns(ctx, r.of.Source.Schema(), r.inner)
	for i, c := range made {
		columns[r.inner[r.reads+i].Columns[0]] = c
	}
	return columns, err
}

// Close closes what was opened.
func (r *derivedReader) Close() error { return errors.Join(r.streams.close(), r.Reader.Close()) }
