package kerneltest

import (
	"context"
	"math"
	"reflect"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// mutation is one way for a kernel to be wrong.
type mutation struct {
	name    string
	before  func(*mutant, []reflect.Value) (args []reflect.Value, after func())
	values  func([]kernels.Scalar) ([]kernels.Scalar, bool)
	inPlace bool // also for kernels that write to a matrix
	onHost  bool // only there: elsewhere nothing looks into what was launched
}

var mutations = []mutation{
	{name: "a wrong value", values: wrongValue, inPlace: true},
	{name: "a row too few", values: dropRow},
	{name: "a wrong null", values: flipNull},
	{name: "two rows swapped", values: swapRows},
	{name: "the offset ignored", before: ignoreOffset},
	{name: "an argument changed", before: changeArgument},
	{name: "a leak", before: leak},
	{name: "the context ignored", before: ignoreContext, onHost: true},
}

// mutant is one call being made wrong.
type mutant struct {
	mutation
	stream device.Stream
	hits   *int
}

func newMutant(m mutation, stream reflect.Value, hits *int) *mutant {
	s, _ := stream.Interface().(device.Stream)
	return &mutant{m, s, hits}
}

// call makes the right call and spoils it.
func (mutation) call(m *mutant, right reflect.Value, args []reflect.Value) []reflect.Value {
	after := func() {}
	if m.before != nil {
		args, after = m.before(m, args)
	}
	out := right.Call(args)
	after()
	if m.values == nil || !out[len(out)-1].IsNil() {
		return out
	}
	if len(out) == 1 {
		m.spoilMatrix(args[len(args)-1])
		return out
	}
	if table, ok := out[0].Interface().(kernels.JoinTable); ok {
		out[0] = reflect.ValueOf(&badTable{table, m}).Convert(out[0].Type())
		return out
	}
	if c, ok := out[0].Interface().(*memory.Column); ok {
		bad, _ := m.spoilColumn(c)
		out[0] = reflect.ValueOf(bad)
		return out
	}
	m.spoil(out[0])
	return out
}

// spoil changes the first column of a result that can be.
func (m *mutant) spoil(v reflect.Value) bool {
	switch x := v.Interface().(type) {
	case *memory.Column:
		bad, ok := m.spoilColumn(x)
		if ok {
			v.Set(reflect.ValueOf(bad))
		}
		return ok
	}
	if v.Kind() == reflect.Pointer && !v.IsNil() && v.Elem().Kind() == reflect.Struct {
		for i := range v.Elem().NumField() {
			if f := v.Elem().Field(i); f.CanSet() && m.spoil(f) {
				return true
			}
		}
	}
	if v.Kind() == reflect.Slice {
		for i := range v.Len() {
			if m.spoil(v.Index(i)) {
				return true
			}
		}
	}
	return false
}

const spoilRows = 1000 // larger results are left alone: the small ones are wrong enough

func (m *mutant) spoilColumn(c *memory.Column) (*memory.Column, bool) {
	if c == nil || c.Len() == 0 || c.Len() > spoilRows {
		return c, false
	}
	host, err := device.Move(context.Background(), m.stream, memory.Heap, c)
	if err != nil {
		return c, false
	}
	values, ok := m.values(kernels.Scalars(host))
	host.Release()
	if !ok {
		return c, false
	}
	wrong, err := kernels.FromScalars(memory.Heap, c.Type(), values)
	if err != nil {
		return c, false
	}
	defer wrong.Release()
	bad, err := device.Move(context.Background(), m.stream, m.stream.Device().Memory(), wrong)
	if err != nil {
		return c, false
	}
	c.Release()
	*m.hits++
	return bad, true
}

func (m *mutant) spoilMatrix(v reflect.Value) {
	x, ok := v.Interface().(kernels.Matrix)
	if !ok || !m.inPlace || x.Rows == 0 || x.Cols == 0 {
		return
	}
	at, width := x.Offset+(x.Rows-1)*x.Stride+x.Cols-1, int64(memory.Width(x.Type))
	m.edit(x.Data, at*width, width, func(b *memory.Buffer) {
		if x.Type.ID() == arrow.FLOAT32 {
			memory.View[float32](b)[0] += 1 + memory.View[float32](b)[0]
		} else {
			memory.View[float64](b)[0] += 1 + memory.View[float64](b)[0]
		}
	})
}

// edit changes n bytes of a buffer wherever it lives.
func (m *mutant) edit(b *memory.Buffer, at, n int64, f func(*memory.Buffer)) {
	part, err := memory.New(memory.Heap, n)
	if err != nil {
		return
	}
	defer part.Release()
	if m.stream.Copy(part, 0, b, at, n) != nil || m.stream.Wait(context.Background()) != nil {
		return
	}
	f(part)
	if m.stream.Copy(b, at, part, 0, n) == nil && m.stream.Wait(context.Background()) == nil {
		*m.hits++
	}
}

// badTable spoils the pairs of a join.
type badTable struct {
	kernels.JoinTable
	m *mutant
}

// Probe gives wrong pairs.
func (t *badTable) Probe(ctx context.Context, s device.Stream, keys []*memory.Column, kind kernels.JoinKind, o kernels.JoinOptions) (*kernels.Pairs, error) {
	p, err := t.JoinTable.Probe(ctx, s, keys, kind, o)
	if err == nil {
		t.m.stream = s
		t.m.spoil(reflect.ValueOf(p))
	}
	return p, err
}

func wrongValue(v []kernels.Scalar) ([]kernels.Scalar, bool) {
	for i := len(v) - 1; i >= 0; i-- {
		if bad, ok := other(v[i]); ok {
			v[i] = bad
			return v, true
		}
	}
	return v, false
}

// other is a value of the same type that no tolerance takes for v.
func other(v kernels.Scalar) (kernels.Scalar, bool) {
	t := v.Type()
	if !v.Valid() {
		return v, false
	}
	switch id := t.ID(); {
	case id == arrow.BOOL:
		return kernels.Bool(!v.Bool()), true
	case kernels.FloatTypes.Has(id):
		switch x := v.Float64(); {
		case x != x, x == 0:
			return kernels.Float(t, 1), true
		case math.Abs(x) < 1:
			return kernels.Float(t, x+2), true
		default:
			return kernels.Float(t, -x), true
		}
	case kernels.BinaryTypes.Has(id):
		return kernels.Text(t, v.Text()+"x"), true
	case id == arrow.DECIMAL128:
		return kernels.Decimal(t, v.Decimal().Add(decimal128.FromI64(1))), true
	case id == arrow.STRUCT:
		items := append([]kernels.Scalar(nil), v.Items()...)
		_, ok := wrongValue(items)
		return kernels.Nested(t, items), ok
	case kernels.NestedTypes.Has(id):
		if len(v.Items()) == 0 {
			return v, false
		}
		return kernels.Nested(t, v.Items()[1:]), true
	case id == arrow.NULL:
		return v, false
	default:
		return kernels.Int(t, v.Int64()^1), true
	}
}

func dropRow(v []kernels.Scalar) ([]kernels.Scalar, bool) { return v[:len(v)-1], true }

func flipNull(v []kernels.Scalar) ([]kernels.Scalar, bool) {
	for i := len(v) / 2; i < len(v); i++ {
		if v[i].Valid() {
			v[i] = kernels.Null(v[i].Type())
			return v, true
		}
	}
	return v, false
}

func swapRows(v []kernels.Scalar) ([]kernels.Scalar, bool) {
	for i := 1; i < len(v); i++ {
		if kernels.CompareKeys(v[i-1], v[i]) != 0 {
			v[i-1], v[i] = v[i], v[i-1]
			return v, true
		}
	}
	return v, false
}

var (
	columnType = reflect.TypeFor[*memory.Column]()
	matrixType = reflect.TypeFor[kernels.Matrix]()
)

// ignoreOffset gives every windowed column or matrix that is read from the
// start of its buffers.
func ignoreOffset(m *mutant, args []reflect.Value) ([]reflect.Value, func()) {
	args = append([]reflect.Value(nil), args...)
	var made []*memory.Column
	start := func(v reflect.Value) reflect.Value {
		c, ok := v.Interface().(*memory.Column)
		if !ok || c == nil || c.Offset() == 0 || c.Len() == 0 {
			return v
		}
		p := memory.Parts{Type: c.Type(), Len: c.Len(), Nulls: memory.UnknownNulls, Dictionary: c.Dictionary().Retain(), Place: c.Place()}
		for i := range 3 {
			if c.Buffer(i) != nil {
				for len(p.Buffers) < i {
					p.Buffers = append(p.Buffers, nil)
				}
				p.Buffers = append(p.Buffers, c.Buffer(i).Retain())
			}
		}
		for i := range c.NumChildren() {
			p.Children = append(p.Children, c.Child(i).Retain())
		}
		bad, err := memory.NewColumn(p)
		if err != nil {
			return v
		}
		made = append(made, bad)
		*m.hits++
		return reflect.ValueOf(bad).Convert(v.Type())
	}
	for i, v := range args {
		switch {
		case v.Type() == matrixType && i < len(args)-1: // the last is written to
			if x := v.Interface().(kernels.Matrix); x.Offset > 0 {
				x.Offset = 0
				args[i] = reflect.ValueOf(x)
				*m.hits++
			}
		case v.Kind() == reflect.Slice && v.Type().Elem() == columnType:
			some := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			for k := range v.Len() {
				some.Index(k).Set(start(v.Index(k)))
			}
			args[i] = some
		case v.Type() == columnType || v.Kind() == reflect.Interface && i > 1 && !v.IsNil():
			if v.Kind() == reflect.Interface && v.Elem().Type() != columnType {
				continue
			}
			args[i] = start(v)
		}
	}
	return args, func() {
		for _, c := range made {
			c.Release()
		}
	}
}

// changeArgument writes to the first column or matrix that the call was given.
func changeArgument(m *mutant, args []reflect.Value) ([]reflect.Value, func()) {
	return args, func() {
		for _, v := range args[2:] {
			if v.Kind() == reflect.Slice && v.Len() > 0 && v.Type().Elem() == columnType {
				v = v.Index(0)
			}
			var b *memory.Buffer
			switch x := v.Interface().(type) {
			case *memory.Column:
				if x != nil {
					b = x.Buffer(1)
				}
			case kernels.Matrix:
				b = x.Data
			}
			if b == nil || b.Len() == 0 {
				continue
			}
			m.edit(b, b.Len()-1, 1, func(part *memory.Buffer) { part.Bytes()[0] ^= 1 })
			return
		}
	}
}

func leak(m *mutant, args []reflect.Value) ([]reflect.Value, func()) {
	return args, func() {
		if _, err := m.stream.Device().Memory().Allocate(1); err == nil {
			*m.hits++
		}
	}
}

// ignoreContext counts as done only where the call is long enough to have to
// look: CancelEverywhere judges that.
func ignoreContext(m *mutant, args []reflect.Value) ([]reflect.Value, func()) {
	*m.hits++
	bad := append([]reflect.Value(nil), args...)
	bad[0] = reflect.ValueOf(context.Background())
	return bad, func() {}
}
