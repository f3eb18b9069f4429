package opencl_test

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/kernels/reference"
	"github.com/volley-go/volley/memory"
)

// TestDecimals holds decimals of every precision and scale to the reference,
// values near powers of ten and of two above all.
func TestDecimals(t *testing.T) {
	for _, b := range backends(t) {
		t.Run(b.Device.Name(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 11))
			d := &decimals{t: t, r: r, b: b}
			var err error
			if d.s, err = b.NewStream(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := d.s.Close(); err != nil {
					t.Error(err)
				}
			}()
			cpu := host.New()
			d.reference = &kernels.Backend{Device: cpu, Set: reference.New()}
			if d.on, err = cpu.NewStream(); err != nil {
				t.Fatal(err)
			}
			for range 150 {
				d.arithmetic()
				d.casts()
			}
		})
	}
}

type decimals struct {
	t         *testing.T
	r         *rand.Rand
	b         *kernels.Backend
	s         device.Stream
	reference *kernels.Backend
	on        device.Stream
}

func (d *decimals) value() decimal128.Num {
	v := new(big.Int)
	switch d.r.IntN(4) {
	case 0:
		v.Exp(big.NewInt(10), big.NewInt(int64(d.r.IntN(39))), nil)
		v.Add(v, big.NewInt(int64(d.r.IntN(5)-2)))
	case 1:
		v.Lsh(big.NewInt(1), uint(d.r.IntN(127)))
		v.Add(v, big.NewInt(int64(d.r.IntN(5)-2)))
	case 2:
		v.Exp(big.NewInt(10), big.NewInt(int64(d.r.IntN(20))), nil)
		v.Mul(v, big.NewInt(5*int64(d.r.IntN(2000)-1000)))
	default:
		v.SetUint64(d.r.Uint64())
		v.Mul(v, new(big.Int).SetUint64(d.r.Uint64()))
		v.Rsh(v, uint(1+d.r.IntN(127)))
	}
	if d.r.IntN(2) == 0 {
		v.Neg(v)
	}
	return decimal128.FromBigInt(v)
}

func (d *decimals) column(t arrow.DataType, n int, value func() kernels.Scalar) (host, there *memory.Column) {
	values := make([]kernels.Scalar, n)
	for i := range values {
		values[i] = value()
	}
	host, err := kernels.FromScalars(memory.Heap, t, values)
	if err != nil {
		d.t.Fatal(err)
	}
	if there, err = device.Move(context.Background(), d.s, d.b.Device.Memory(), host); err != nil {
		d.t.Fatal(err)
	}
	return host, there
}

func (d *decimals) decimals(t arrow.DataType, n int) (host, there *memory.Column) {
	return d.column(t, n, func() kernels.Scalar { return kernels.Decimal(t, d.value()) })
}

// same compares a result, or that both fail.
func (d *decimals) same(what string, got *memory.Column, gotErr error, want *memory.Column, wantErr error) {
	d.t.Helper()
	if (gotErr == nil) != (wantErr == nil) {
		d.t.Fatalf("%s: got the error %v, want %v", what, gotErr, wantErr)
	}
	if gotErr != nil {
		return
	}
	defer got.Release()
	defer want.Release()
	back, err := device.Move(context.Background(), d.s, memory.Heap, got)
	if err != nil {
		d.t.Fatal(err)
	}
	defer back.Release()
	if err := kerneltest.Equal(back, want, kerneltest.Tolerance{}); err != nil {
		d.t.Fatalf("%s: %v", what, err)
	}
}

func (d *decimals) arithmetic() {
	ctx := context.Background()
	var a, b arrow.DataType
	op := kernels.ArithmeticOp(d.r.IntN(5))
	for {
		a = &arrow.Decimal128Type{Precision: int32(1 + d.r.IntN(38)), Scale: int32(d.r.IntN(39))}
		b = &arrow.Decimal128Type{Precision: int32(1 + d.r.IntN(38)), Scale: int32(d.r.IntN(39))}
		if _, err := kernels.ArithmeticType(op, a, b); err == nil {
			break
		}
	}
	for _, n := range []int{200, 1} {
		x, xThere := d.decimals(a, n)
		y, yThere := d.column(b, n, func() kernels.Scalar {
			for {
				if v := d.value(); v.Sign() != 0 {
					return kernels.Decimal(b, v)
				}
			}
		})
		for _, o := range []kernels.ArithmeticOptions{{}, {Checked: true}} {
			want, wantErr := d.reference.Arithmetic(ctx, d.on, op, x, y, o)
			got, gotErr := d.b.Arithmetic(ctx, d.s, op, xThere, yThere, o)
			d.same(a.String()+op.String()+b.String(), got, gotErr, want, wantErr)
		}
		un := kernels.UnaryOp(d.r.IntN(int(kernels.Round) + 1))
		if _, err := kernels.UnaryType(un, a); err == nil {
			want, wantErr := d.reference.Unary(ctx, d.on, un, x, kernels.ArithmeticOptions{})
			got, gotErr := d.b.Unary(ctx, d.s, un, xThere, kernels.ArithmeticOptions{})
			d.same(un.String()+" of "+a.String(), got, gotErr, want, wantErr)
		}
		for _, c := range []*memory.Column{x, xThere, y, yThere} {
			c.Release()
		}
	}
}

func (d *decimals) casts() {
	scale := func() arrow.DataType {
		return &arrow.Decimal128Type{Precision: int32(1 + d.r.IntN(38)), Scale: int32(d.r.IntN(77) - 38)}
	}
	p := arrow.PrimitiveTypes
	a := scale()
	other := scale()
	for other.(*arrow.Decimal128Type).Scale == a.(*arrow.Decimal128Type).Scale { // which may be a cast of the type alone
		other = scale()
	}
	for _, to := range []arrow.DataType{other, p.Float64, p.Float32, p.Int64, p.Uint64, p.Int8, arrow.FixedWidthTypes.Boolean} {
		for _, n := range []int{200, 1} {
			x, there := d.decimals(a, n)
			d.cast(x, there, to)
		}
	}
	for _, from := range []arrow.DataType{p.Float64, p.Float32, p.Int64, p.Uint64} {
		for _, n := range []int{200, 1} {
			x, there := d.column(from, n, func() kernels.Scalar {
				if kernels.FloatTypes.Has(from.ID()) {
					f := math.Float64frombits(d.r.Uint64())
					if d.r.IntN(2) == 0 {
						f = float64(d.r.IntN(2001)-1000) * math.Exp2(float64(d.r.IntN(200)-100))
					}
					return kernels.Float(from, f)
				}
				return kernels.Int(from, int64(d.r.Uint64())>>d.r.IntN(64))
			})
			d.cast(x, there, scale())
		}
	}
}

func (d *decimals) cast(x, there *memory.Column, to arrow.DataType) {
	ctx := context.Background()
	for _, o := range []kernels.CastOptions{{Wrap: true}, {}} {
		want, wantErr := d.reference.Cast(ctx, d.on, x, to, o)
		got, gotErr := d.b.Cast(ctx, d.s, there, to, o)
		d.same(x.Type().String()+" to "+to.String(), got, gotErr, want, wantErr)
	}
	x.Release()
	there.Release()
}
