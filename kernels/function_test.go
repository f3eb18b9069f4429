package kernels

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
)

// TestFunctionsEndBetweenRuns has a function end its own call: it is given no more rows.
func TestFunctionsEndBetweenRuns(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	given := 0
	end := func(out, a []int64) {
		given += len(out)
		copy(out, a)
		cancel()
	}
	f := &Function{name: "ends", types: []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int64}, host: reflect.ValueOf(end)}
	const n = 10_000
	if err := f.RunIn(ctx, n, make([]byte, 8*n), [][]byte{make([]byte, 8*n)}); !errors.Is(err, device.ErrCanceled) {
		t.Fatal(err)
	}
	if given != leastRun {
		t.Fatalf("%d rows, of runs of %d", given, leastRun)
	}
}

// TestFunctionsAreGivenEveryRowOnce takes numbers of rows through runs that grow and shrink: every row is computed, once, beside its own arguments.
func TestFunctionsAreGivenEveryRowOnce(t *testing.T) {
	slow := false
	add := func(out []int32, a []int32, b []int64) {
		if slow {
			time.Sleep(longestRun + time.Millisecond)
		}
		for i := range out {
			out[i] += a[i] + int32(b[i])
		}
	}
	types := []arrow.DataType{arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int32}
	f := &Function{name: "adds", types: types, host: reflect.ValueOf(add)}
	for _, n := range []int64{0, 1, leastRun - 1, leastRun, leastRun + 1, 5000, 100_003, 3 * leastRun} {
		slow = n == 3*leastRun
		out, a, b := make([]int32, n), make([]int32, n), make([]int64, n)
		for i := range n {
			a[i], b[i] = int32(3*i), 7*i
		}
		if err := f.RunIn(context.Background(), n, bytesOf(out), [][]byte{bytesOf(a), bytesOf(b)}); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if out[i] != int32(10*i) {
				t.Fatalf("%d rows: row %d is %d", n, i, out[i])
			}
		}
	}
}

// bytesOf is a slice as its bytes.
func bytesOf[T int32 | int64](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(T))))
}
