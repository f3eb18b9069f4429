package expr

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// TestOnRemoteDevice runs all tests on a device whose memory the host cannot
// address.
func TestOnRemoteDevice(t *testing.T) { backends.Again(t, "remote") }

// testBackend is the backend of the test run with its memory counted: the test
// fails on a leak.
func testBackend(t testing.TB) (*kernels.Backend, device.Stream) {
	t.Helper()
	var counted *memory.Counted
	over := memory.OverReleases()
	b := backends.Open(t, func(a memory.Allocator) memory.Allocator {
		counted = memory.NewTraced(a)
		return counted
	})
	s, err := b.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if err := counted.Check(); err != nil {
			t.Error(err)
		}
		if n := memory.OverReleases() - over; n != 0 {
			t.Errorf("%d releases too many", n)
		}
	})
	return b, s
}

// columnOf builds a column of scalars that the test releases at its end.
func columnOf(t testing.TB, b *kernels.Backend, typ arrow.DataType, values []kernels.Scalar) *memory.Column {
	t.Helper()
	s, err := b.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	c, err := b.FromScalars(context.Background(), s, typ, values)
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Release)
	return c
}

func mustBind(t testing.TB, text string, schema *arrow.Schema) *Bound {
	t.Helper()
	e, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	bound, err := e.Bind(schema)
	if err != nil {
		t.Fatal(err)
	}
	return bound
}

func evalText(t testing.TB, b *kernels.Backend, s device.Stream, text string, schema *arrow.Schema, columns []*memory.Column) []kernels.Scalar {
	t.Helper()
	rows := int64(0)
	if len(columns) > 0 {
		rows = columns[0].Len()
	}
	c, err := mustBind(t, text, schema).Eval(context.Background(), b, s, rows, columns)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer c.Release()
	return scalars(t, b, s, c)
}

// scalars are the values of a column wherever it is.
func scalars(t testing.TB, b *kernels.Backend, s device.Stream, c *memory.Column) []kernels.Scalar {
	t.Helper()
	h, err := b.OnHost(context.Background(), s, c)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Release()
	return kernels.Scalars(h)
}
