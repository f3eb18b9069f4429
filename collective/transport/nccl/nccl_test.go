package nccl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/cuda"
	"github.com/volley-go/volley/internal/cuemu"
	"github.com/volley-go/volley/internal/dl"
	"github.com/volley-go/volley/internal/ncclemu"
	"github.com/volley-go/volley/memory"
)

const limit = 60 * time.Second

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run gives the emulated driver a device for each rank, unless the environment names a
// driver: then the NCCL is the machine's too.
func run(m *testing.M) int {
	if os.Getenv("VOLLEY_CUDA_LIBRARY") == "" && cuemu.Missing() == "" {
		for name, value := range map[string]string{"CUEMU_DEVICES": "4", "CUEMU_MEMORY": "67108864"} {
			if err := os.Setenv(name, value); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
		if err := ncclemu.Start(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return cuemu.Run(m)
}

// here is the library and how many GPUs there are; nil where there is neither a GPU nor
// the emulated one.
func here(t *testing.T) (*Library, int) {
	t.Helper()
	if !dl.Available || cuemu.Missing() != "" && os.Getenv("VOLLEY_CUDA_LIBRARY") == "" {
		t.Log("neither CUDA nor the emulated driver here: " + cuemu.Missing())
		return nil, 0
	}
	gpus, err := cuda.List()
	if err != nil {
		t.Fatal(err)
	}
	l, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s on %d GPUs", l, len(gpus))
	return l, len(gpus)
}

// emulated is here, nil where the NCCL is a real one: nothing is broken there on purpose.
func emulated(t *testing.T) *Library {
	l, _ := here(t)
	if l == nil {
		return nil
	}
	if _, err := ncclemu.Comms(); errors.Is(err, ncclemu.ErrReal) {
		t.Log(err)
		return nil
	}
	return l
}

// rank is one rank of a test's world.
type rank struct {
	*Comm
	gpu    *cuda.Device
	stream device.Stream
}

// together runs f for the ranks of a world, each with a GPU of its own, and gives their
// errors. It ends in a failure of the test when one hangs.
func together(t *testing.T, l *Library, size int, f func(ctx context.Context, r rank) error) []error {
	t.Helper()
	id, err := l.NewID()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	errs := make([]error, size)
	var all sync.WaitGroup
	for i := range size {
		all.Go(func() { errs[i] = one(ctx, l, id, i, size, f) })
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(2 * limit):
		t.Fatal("the ranks hang")
	}
	return errs
}

func one(ctx context.Context, l *Library, id ID, i, size int, f func(ctx context.Context, r rank) error) error {
	return on(ctx, l, id, i, i, size, f)
}

// on is one rank on a GPU.
func on(ctx context.Context, l *Library, id ID, number, i, size int, f func(ctx context.Context, r rank) error) (err error) {
	gpu, err := cuda.Open(number)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gpu.Close()) }()
	s, err := gpu.NewStream()
	if err != nil {
		return err
	}
	c, err := l.Join(ctx, gpu, id, i, size)
	if err != nil {
		return err
	}
	err = f(ctx, rank{c, gpu, s})
	return errors.Join(err, c.Close(ctx))
}

// put makes a vector on the GPU, behind one other element.
func (r rank) put(ctx context.Context, t Type, bytes []byte) (Vector, error) {
	w := t.Width()
	near := memory.Wrap(bytes, nil)
	defer near.Release()
	b, err := memory.New(r.gpu.Memory(), near.Len()+w)
	if err != nil {
		return Vector{}, err
	}
	if err := r.stream.Copy(b, w, near, 0, near.Len()); err != nil {
		return Vector{}, err
	}
	return Vector{Buffer: b, Offset: 1, Len: near.Len() / w}, r.stream.Wait(ctx)
}

// take brings it back.
func (r rank) take(ctx context.Context, t Type, v Vector) ([]byte, error) {
	defer v.Buffer.Release()
	near, err := memory.New(memory.Heap, v.Len*t.Width())
	if err != nil {
		return nil, err
	}
	if err := r.stream.Copy(near, 0, v.Buffer, v.Offset*t.Width(), near.Len()); err != nil {
		return nil, err
	}
	return near.Bytes(), r.stream.Wait(ctx)
}

// settled waits until no communicator is left that another test made.
func settled(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(time.Millisecond) {
		n, err := ncclemu.Comms()
		if err != nil || n == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d communicators are left", n)
		}
	}
}
