package kernels

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// Function is a kernel that a user registered: it computes one value from the
// values of a row.
type Function struct {
	name   string
	types  []arrow.DataType // of the arguments, and last of the result
	host   reflect.Value
	raw    func(rows int64, out []byte, args [][]byte) error // in place of host
	source string
	rows   atomic.Int64 // of a run of RunIn
}

// Name is the name that it was registered under.
func (f *Function) Name() string { return f.name }

// Args are the types of the arguments.
func (f *Function) Args() []arrow.DataType { return f.types[:len(f.types)-1] }

// Result is the type of the result.
func (f *Function) Result() arrow.DataType { return f.types[len(f.types)-1] }

// Source is the text for GPUs, empty where there is none.
func (f *Function) Source() string { return f.source }

// FunctionTypes are the types of arguments and results of user functions.
var FunctionTypes = NumberTypes | TemporalTypes

var functions = struct {
	sync.RWMutex
	byName map[string]*Function
}{byName: map[string]*Function{}}

var functionName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// Register makes a user's kernel known under a name, for Backend.Apply and for
// expressions, which call it by that name as they call functions of their own
// (of two of one name theirs is called).
//
// types are the Arrow types of the arguments, one or more, and last that of the
// result, all of FunctionTypes. f is the function for the CPU, over runs of
// rows: func(out []R, a []A, b []B) for two arguments, in Go's types of those
// widths (temporal types are their integers); it sets all of out, may be called
// from several goroutines at once, and is also given the values under nulls,
// which are undefined: the result is null where an argument is. source is the
// same function for GPUs, in the dialect of package kernels/gpu:
//
//	FN f64 hypotenuse(f64 a, f64 b) { return sqrt(a * a + b * b); }
//
// with helpers before it, if any, whose names begin with its own. It is compiled
// when it is first called on a device; what the compiler says names the lines
// of source. Without source the function is the CPU's alone (ErrUnsupported on
// others).
//
// A name that is taken or is no plain word of small letters, types that do not
// fit f, and types that are not of FunctionTypes are an ErrMismatch.
func Register(name string, types []arrow.DataType, f any, source string) (*Function, error) {
	if err := checkFunction(name, types); err != nil {
		return nil, err
	}
	host := reflect.ValueOf(f)
	if host.Kind() != reflect.Func || host.IsNil() || host.Type().NumIn() != len(types) || host.Type().NumOut() != 0 {
		return nil, mismatch("function %s: %T is no func(out []R, …) over %d slices", name, f, len(types))
	}
	for i, t := range types {
		in := 0 // the result comes first in Go
		if i < len(types)-1 {
			in = i + 1
		}
		if want := reflect.SliceOf(goType(t)); host.Type().In(in) != want {
			return nil, mismatch("function %s: parameter %d of the Go function is %s, %s needs %s", name, in, host.Type().In(in), t, want)
		}
	}
	return register(&Function{name: name, types: slices.Clone(types), host: host, source: source})
}

// RegisterBytes is Register for a function over the values' bytes, as those have
// it that are written in another language: f sets all of out, rows values of the
// result, from those of each argument. Its error is that of the call, an ErrValue
// if it is of no kind. Without f the function is the GPUs' alone (ErrUnsupported on
// the CPU), and takes a source.
func RegisterBytes(name string, types []arrow.DataType, f func(rows int64, out []byte, args [][]byte) error, source string) (*Function, error) {
	if err := checkFunction(name, types); err != nil {
		return nil, err
	}
	if f == nil {
		if source == "" {
			return nil, mismatch("function %s has neither a function for the CPU nor a source for GPUs", name)
		}
		f = func(int64, []byte, [][]byte) error { return unsupported("there is no function for the CPU") }
	}
	return register(&Function{name: name, types: slices.Clone(types), raw: f, source: source})
}

// checkFunction holds the name and types of a function against what there can be.
func checkFunction(name string, types []arrow.DataType) error {
	if !functionName.MatchString(name) {
		return mismatch("function name %q: it takes small letters, digits and _", name)
	}
	if len(types) < 2 {
		return mismatch("function %s has %d types: it takes those of one argument or more, and that of the result", name, len(types))
	}
	for i, t := range types {
		if t == nil || !FunctionTypes.Has(t.ID()) {
			return mismatch("function %s: type %d is %v: it takes numbers and temporal types", name, i, t)
		}
	}
	return nil
}

func register(f *Function) (*Function, error) {
	functions.Lock()
	defer functions.Unlock()
	if functions.byName[f.name] != nil {
		return nil, mismatch("function %s is registered already", f.name)
	}
	functions.byName[f.name] = f
	return f, nil
}

// Registered is the user's kernel of that name.
func Registered(name string) (*Function, bool) {
	functions.RLock()
	defer functions.RUnlock()
	f, ok := functions.byName[name]
	return f, ok
}

// leastRun is the shortest run of rows that RunIn gives a function, whose time is
// between the other two where that can be: so short that a call that was
// cancelled ends soon, and so long that calls cost nothing beside it.
const (
	leastRun    = 64
	shortestRun = 2 * time.Millisecond
	longestRun  = 20 * time.Millisecond
)

// RunIn is Run, which gives the function as many rows at a time as it computes in
// some milliseconds, and looks between them whether the context has ended.
func (f *Function) RunIn(ctx context.Context, n int64, out []byte, args [][]byte) error {
	from, widths := make([][]byte, len(args)), make([]int64, len(f.types))
	for i, t := range f.types {
		widths[i] = int64(memory.Width(t))
	}
	width := widths[len(args)]
	for at := int64(0); at < n; {
		if err := device.Canceled(ctx, "", "function "+f.name); err != nil {
			return err
		}
		rows := max(f.rows.Load(), leastRun)
		end := min(at+rows, n)
		for i, a := range args {
			from[i] = a[at*widths[i] : end*widths[i]]
		}
		begin := time.Now()
		if err := f.Run(end-at, out[at*width:end*width], from); err != nil {
			return err
		}
		switch took := time.Since(begin); {
		case took > longestRun:
			f.rows.Store(max(rows/2, leastRun))
		case took < shortestRun && end-at == rows && rows < 1<<20:
			f.rows.Store(2 * rows)
		}
		at = end
	}
	return nil
}

// Run computes n values on the host: out and args are the values' bytes. A panic
// of the Go function is an error that names it.
func (f *Function) Run(n int64, out []byte, args [][]byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: function %s: %v", device.ErrValue, f.name, p)
		}
	}()
	if f.raw != nil {
		err := f.raw(n, out, args)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, device.ErrCanceled) || errors.Is(err, device.ErrUnsupported):
			return fmt.Errorf("function %s: %w", f.name, err)
		default:
			return fmt.Errorf("%w: function %s: %w", device.ErrValue, f.name, err)
		}
	}
	in := []reflect.Value{goSlice(f.Result(), out, n)}
	for i, t := range f.Args() {
		in = append(in, goSlice(t, args[i], n))
	}
	f.host.Call(in)
	return nil
}

// goType is the Go type of values of an Arrow type.
func goType(t arrow.DataType) reflect.Type { return goSlice(t, nil, 0).Type().Elem() }

// goSlice is bytes as a slice of n values.
func goSlice(t arrow.DataType, b []byte, n int64) reflect.Value {
	switch t.ID() {
	case arrow.INT8:
		return sliceOf[int8](b, n)
	case arrow.INT16:
		return sliceOf[int16](b, n)
	case arrow.INT32, arrow.DATE32, arrow.TIME32:
		return sliceOf[int32](b, n)
	case arrow.UINT8:
		return sliceOf[uint8](b, n)
	case arrow.UINT16:
		return sliceOf[uint16](b, n)
	case arrow.UINT32:
		return sliceOf[uint32](b, n)
	case arrow.UINT64:
		return sliceOf[uint64](b, n)
	case arrow.FLOAT32:
		return sliceOf[float32](b, n)
	case arrow.FLOAT64:
		return sliceOf[float64](b, n)
	default:
		return sliceOf[int64](b, n)
	}
}

func sliceOf[T memory.Fixed](b []byte, n int64) reflect.Value {
	w := memory.Wrap(b, nil)
	return reflect.ValueOf(memory.View[T](w)[:n:n])
}
