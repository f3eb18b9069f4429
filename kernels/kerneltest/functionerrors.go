package kerneltest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// brokenFunctions counts the functions that FunctionErrors registered: their
// names are good for the whole process.
var brokenFunctions atomic.Int64

// FunctionErrors checks, of a backend that compiles users' kernels, that an
// error in the third line of one is an ErrUnsupported whose text has the
// kernel's name with that line, both where it is called alone and where it is a
// step of a program; and that the backend goes on.
func FunctionErrors(t *testing.T, b *kernels.Backend) {
	t.Helper()
	ctx := context.Background()
	s, err := b.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	f64 := arrow.PrimitiveTypes.Float64
	x := onDevice(t, b, s, f64, kernels.Float64(1), kernels.Float64(2))
	defer x.Release()
	register := func(body string) *kernels.Function {
		name := fmt.Sprintf("kerneltest_broken_%d", brokenFunctions.Add(1))
		f, err := kernels.Register(name, []arrow.DataType{f64, f64}, func(out, a []float64) { copy(out, a) },
			"// A comment is a line too.\nFN f64 "+name+"(f64 a) {\n  "+body+"\n}\n")
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, body := range []string{"return a + unheard_of;", "f64 b = a return b;", "return (a;"} {
		f := register(body)
		out, alone := b.Apply(ctx, s, f, []kernels.Datum{x})
		out.Release()
		p := &kernels.Program{Results: []int{2}, Steps: []kernels.Step{
			{Kind: kernels.StepColumn, Type: f64},
			{Kind: kernels.StepApply, Type: f64, Function: f, Args: []int{0}},
			{Kind: kernels.StepArithmetic, Op: int(kernels.Add), Type: f64, Args: []int{1, 0}},
		}}
		all, step := b.Evaluate(ctx, s, p, 2, []*memory.Column{x})
		for _, c := range all {
			c.Release()
		}
		line := regexp.MustCompile(f.Name() + `[:(]3\b`) // name:3: of clang and gcc, name(3): of NVRTC
		for _, err := range []error{alone, step} {
			if !errors.Is(err, device.ErrUnsupported) || !line.MatchString(err.Error()) {
				t.Errorf("%s\nis reported as %v", f.Source(), err)
			}
		}
	}
	out, err := b.Apply(ctx, s, register("return a;"), []kernels.Datum{x})
	if err != nil {
		t.Fatal(err)
	}
	out.Release()
}

// onDevice is a column of the device with the values given.
func onDevice(t *testing.T, b *kernels.Backend, s device.Stream, typ arrow.DataType, values ...kernels.Scalar) *memory.Column {
	t.Helper()
	host, err := kernels.FromScalars(memory.Heap, typ, values)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Release()
	there, err := device.NewMover(s, b.Device.Memory()).Column(host)
	if err == nil {
		err = s.Wait(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
	return there
}
