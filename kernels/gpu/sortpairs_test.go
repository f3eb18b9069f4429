package gpu

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/opencl"
)

// eachDevice runs f with an engine on every OpenCL device. Where there is none
// there is nothing to run on; the tests of kernels/opencl say when that is a
// failure.
func eachDevice(t *testing.T, f func(*testing.T, *Engine)) {
	infos, err := opencl.List()
	if err != nil && !errors.Is(err, device.ErrUnavailable) {
		t.Fatal(err)
	}
	prelude, err := os.ReadFile("../opencl/prelude.h")
	if err != nil {
		t.Fatal(err)
	}
	for i, info := range infos {
		d, err := opencl.Open(i)
		if err != nil {
			t.Fatal(err)
		}
		var defines map[string]string
		if slices.Contains(info.Features, "subgroups-32") { // kernels/opencl tests that they work
			defines = map[string]string{"SUB_GROUPS": "1"}
		}
		t.Run(d.Name(), func(t *testing.T) {
			defer d.Close()
			f(t, &Engine{dev: d, joins: defaultJoins, modules: map[string]*module{}, dialect: Dialect{
				Name: "opencl",
				Source: func(module string) (device.Source, error) {
					text, err := Assemble(string(prelude), module)
					return device.Source{Name: module, Text: text, Defines: defines}, err
				},
				Compile: func(name, text string) (device.Source, error) {
					text, err := Wrap(string(prelude), name, text)
					return device.Source{Name: name, Text: text, Defines: defines}, err
				},
			}})
		})
	}
}

// onDevices is eachDevice with a call on a stream of the device, which must not
// have failed in the end.
func onDevices(t *testing.T, f func(*testing.T, *call)) {
	eachDevice(t, func(t *testing.T, e *Engine) {
		s, err := e.dev.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		c := e.begin(context.Background(), s)
		f(t, c)
		c.end(&err)
		if err != nil {
			t.Fatal(err)
		}
	})
}

// wordBytes is 32- or 64-bit words as the bytes of a buffer.
func wordBytes(v []uint64, width int) []byte {
	var b []byte
	for _, w := range v {
		b = binary.LittleEndian.AppendUint64(b, w)[:len(b)+width]
	}
	return b
}

// bytesWords is wordBytes turned round.
func bytesWords(b []byte, width int) []uint64 {
	v := make([]uint64, len(b)/width)
	for i := range v {
		var w [8]byte
		copy(w[:], b[i*width:(i+1)*width])
		v[i] = binary.LittleEndian.Uint64(w[:])
	}
	return v
}

func TestSortPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	draws := []func(i int) uint64{
		func(int) uint64 { return r.Uint64() },
		func(int) uint64 { return 0x0123456789abcdef },
		func(int) uint64 { return r.Uint64() & 0x0300000003000003 },
		func(i int) uint64 { return uint64(i) },
		func(i int) uint64 { return ^uint64(0) - uint64(i&1)<<9 },
	}
	onDevices(t, func(t *testing.T, c *call) {
		for _, keyBits := range []int{1, 12, 32, 33, 64} {
			for _, rowWidth := range []int{4, 8} {
				for _, n := range []int{0, 1, 31, 33, 256, 3071, 3072, 4097, 20_000, 100_001} {
					for kind, draw := range draws {
						given := n%2 == 1
						t.Run(fmt.Sprint(keyBits, rowWidth, n, kind), func(t *testing.T) {
							keys, rows := make([]uint64, n), make([]uint64, n)
							for i := range keys {
								keys[i], rows[i] = draw(i)&(1<<keyBits-1), uint64(i)
								if given {
									rows[i] = r.Uint64() & (1<<(8*rowWidth) - 1)
								}
							}
							checkSortPairs(t, c, keys, keyBits, rows, rowWidth, given)
						})
					}
				}
			}
		}
	})
}

func checkSortPairs(t *testing.T, c *call, keys []uint64, keyBits int, rows []uint64, rowWidth int, given bool) {
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
	width, n := wordWidth(keyBits), int64(len(keys))
	in := c.upload(wordBytes(keys, width))
	rowsIn := c.upload(wordBytes(rows, rowWidth))
	if !given {
		rowsIn = nil
	}
	k, v := c.sortPairs(in, keyBits, rowsIn, rowWidth, n)
	gotKeys, gotRows := bytesWords(c.read(k, 0, n*int64(width)), width), bytesWords(c.read(v, 0, n*int64(rowWidth)), rowWidth)
	c.drop(k)
	c.drop(v)
	if c.err != nil {
		t.Fatal(c.err)
	}
	for i, at := range order {
		if gotKeys[i] != keys[at] || gotRows[i] != rows[at] {
			t.Fatalf("place %d: key %#x row %d, want key %#x row %d", i, gotKeys[i], gotRows[i], keys[at], rows[at])
		}
	}
}
