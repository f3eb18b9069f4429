// Package remote pretends that kernels for the host run on a device whose memory the host cannot
// address.
package remote

import (
	"context"
	"reflect"
	"time"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/devicetest"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// New makes a backend on a devicetest.Remote, whose memory the host cannot
// address, of kernels for the host: each of its entries copies the arguments to
// the host, makes the call there, and copies the results back. What is built on
// kernels is tested on it as on a graphics card. Options are those of the
// Remote.
func New(place memory.Place, set *kernels.Set, o ...host.Option) *kernels.Backend {
	x := &crossing{host: host.New(host.WithAllocator(memory.Heap))}
	far := *set
	far.Name = "remote " + set.Name
	far.MinMax.Func, far.JoinColumns.Func, far.FilterWhere.Func, far.SortColumns.Func, far.Members.Func = nil, nil, nil, nil, nil
	v := reflect.ValueOf(&far).Elem()
	for i := range v.NumField() {
		entry := v.Field(i)
		if entry.Kind() != reflect.Struct || entry.FieldByName("Func").IsNil() {
			continue
		}
		f := entry.FieldByName("Func")
		near := reflect.ValueOf(f.Interface())
		f.Set(reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
			return x.call(near, args)
		}))
	}
	far.GatherRows = kernels.Entry[kernels.GatherRowsFunc]{Func: x.gatherRows, Types: kernels.RowTypes}
	return &kernels.Backend{Device: devicetest.NewRemote(place, o...), Set: &far}
}

// latency is how long a result takes to be there: long enough for whoever does
// not wait for it to see what was there before.
const latency = 50 * time.Microsecond

// crossing makes calls on the host with arguments from another device.
type crossing struct{ host *host.Device }

var errorType = reflect.TypeFor[error]()

// call makes one call: args begin with the context and the stream, and results
// end with an error.
func (x *crossing) call(near reflect.Value, args []reflect.Value) []reflect.Value {
	far, _ := args[1].Interface().(device.Stream)
	out, err := x.cross(near, far, args)
	if err == nil {
		return out
	}
	out = make([]reflect.Value, near.Type().NumOut())
	for i := range out {
		out[i] = reflect.Zero(near.Type().Out(i))
	}
	out[len(out)-1] = reflect.ValueOf(&err).Elem()
	return out
}

func (x *crossing) cross(near reflect.Value, far device.Stream, args []reflect.Value) ([]reflect.Value, error) {
	s, err := x.host.NewStream()
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }() // what was given to it was waited for
	here := &moves{to: device.NewMover(far, memory.Heap)}
	defer here.release()
	in := []reflect.Value{args[0], reflect.ValueOf(&s).Elem()}
	for _, a := range args[2:] {
		v, err := here.value(a)
		if err != nil {
			return nil, err
		}
		in = append(in, v)
	}
	if err := far.Wait(context.Background()); err != nil {
		return nil, err
	}
	out := near.Call(in)
	if last := out[len(out)-1]; !last.IsNil() {
		return nil, last.Interface().(error)
	}
	if len(out) == 1 { // it wrote to its last argument
		c, had := in[len(in)-1].Interface().(kernels.Matrix), args[len(args)-1].Interface().(kernels.Matrix)
		if err := far.Copy(had.Data, 0, c.Data, 0, c.Data.Len()); err != nil {
			return nil, err
		}
		return out, far.Wait(context.Background())
	}
	if table, ok := out[0].Interface().(kernels.JoinTable); ok {
		table = &remoteTable{table, x}
		out[0] = reflect.ValueOf(&table).Elem()
		return out, nil
	}
	// As on a graphics card, the call returns before its result is there.
	err = far.Call("latency", func() error { time.Sleep(latency); return nil })
	there := &moves{to: device.NewMover(far, far.Device().Memory())}
	moved := out[0]
	if err == nil {
		moved, err = there.value(out[0])
	}
	each(out[0], (*memory.Column).Release)
	there.to.Release()
	if err != nil {
		there.release()
		return nil, err
	}
	return []reflect.Value{moved, reflect.Zero(errorType)}, nil
}

// remoteTable is a join's table on the host.
type remoteTable struct {
	kernels.JoinTable
	crossing *crossing
}

// Probe moves the keys to the table.
func (t *remoteTable) Probe(ctx context.Context, s device.Stream, keys []*memory.Column, kind kernels.JoinKind, o kernels.JoinOptions) (*kernels.Pairs, error) {
	args := []any{&ctx, &s, &keys, &kind, &o}
	values := make([]reflect.Value, len(args))
	for i, a := range args {
		values[i] = reflect.ValueOf(a).Elem()
	}
	out := t.crossing.call(reflect.ValueOf(t.JoinTable.Probe), values)
	err, _ := out[1].Interface().(error)
	return out[0].Interface().(*kernels.Pairs), err
}

// moves moves the columns and matrices within values, and knows them again.
type moves struct {
	to      *device.Mover
	columns []*memory.Column
	buffers []*memory.Buffer
}

func (m *moves) release() {
	for _, c := range m.columns {
		c.Release()
	}
	for _, b := range m.buffers {
		b.Release()
	}
	m.columns, m.buffers = nil, nil
	m.to.Release()
}

// value is v with all columns and matrices in it moved.
func (m *moves) value(v reflect.Value) (reflect.Value, error) {
	switch x := v.Interface().(type) {
	case *memory.Column:
		if x == nil {
			return v, nil
		}
		moved, err := m.to.Column(x)
		if err != nil {
			return v, err
		}
		m.columns = append(m.columns, moved)
		return reflect.ValueOf(moved).Convert(v.Type()), nil
	case kernels.Matrix:
		b, err := m.to.Buffer(x.Data)
		if err != nil {
			return v, err
		}
		m.buffers = append(m.buffers, b)
		x.Data = b
		return reflect.ValueOf(x), nil
	}
	switch {
	case v.Kind() == reflect.Slice && !v.IsNil():
		some := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			moved, err := m.value(v.Index(i))
			if err != nil {
				return v, err
			}
			some.Index(i).Set(moved)
		}
		return some, nil
	case v.Kind() == reflect.Struct:
		made := reflect.New(v.Type()).Elem()
		made.Set(v)
		for i := range v.NumField() {
			if !made.Field(i).CanSet() {
				continue
			}
			moved, err := m.value(v.Field(i))
			if err != nil {
				return v, err
			}
			made.Field(i).Set(moved)
		}
		return made, nil
	case v.Kind() == reflect.Pointer && !v.IsNil() && v.Elem().Kind() == reflect.Struct:
		moved, err := m.value(v.Elem())
		if err != nil {
			return v, err
		}
		made := reflect.New(v.Type().Elem())
		made.Elem().Set(moved)
		return made, nil
	}
	return v, nil
}

// each calls f with all columns in a result.
func each(v reflect.Value, f func(*memory.Column)) {
	if c, ok := v.Interface().(*memory.Column); ok {
		f(c)
		return
	}
	switch {
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			each(v.Index(i), f)
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				each(v.Field(i), f)
			}
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		each(v.Elem(), f)
	}
}
