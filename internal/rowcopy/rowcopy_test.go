package rowcopy

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/volley-go/volley/internal/guard"
)

// TestCopy holds Copy to the plain loop, for rows of all widths, which lie against
// unmapped memory, and for rooms that are wider than the rows.
func TestCopy(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for width := 1; width <= 330; width++ {
		for _, n := range []int{1, 2, 3, mostAhead - 1, mostAhead, mostAhead + 1, 300} {
			for _, mode := range []guard.Mode{guard.Tail, guard.Head} {
				const rows = 64 // so that all of them end where the block does
				a := guard.New(mode)
				from, err := a.Allocate(int64(rows * width))
				if err != nil {
					t.Fatal(err)
				}
				for i := range from.Bytes {
					from.Bytes[i] = byte(r.Uint32())
				}
				step := width + r.IntN(2)*r.IntN(70)
				to, err := a.Allocate(int64((n-1)*step + width))
				if err != nil {
					t.Fatal(err)
				}
				want, numbers := bytes.Clone(to.Bytes), make([]int64, n)
				for i := range numbers {
					numbers[i] = r.Int64N(rows)
				}
				numbers[0], numbers[n-1] = rows-1, 0
				plain(want, step, from.Bytes, width, numbers)
				if Copy(to.Bytes, step, from.Bytes, width, numbers); !bytes.Equal(to.Bytes, want) {
					t.Fatalf("%d rows of %d bytes, %d apart: other bytes than the plain loop's", n, width, step)
				}
				a.Free(from)
				a.Free(to)
				if err := a.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func BenchmarkCopy(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, width := range []int{4, 44, 128, 512} {
		n := (128 << 20) / width
		from, to, rows := make([]byte, n*width), make([]byte, 4096*width), make([]int64, n)
		for i := range from {
			from[i] = byte(i)
		}
		for i := range rows {
			rows[i] = int64(i)
		}
		r.Shuffle(n, func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		for name, run := range map[string]func([]byte, int, []byte, int, []int64){"ahead": Copy, "plain": plain} {
			b.Run(fmt.Sprintf("width=%d/way=%s", width, name), func(b *testing.B) {
				b.SetBytes(int64(4096 * width))
				at := 0
				for b.Loop() {
					if at+4096 > n {
						at = 0
					}
					run(to, width, from, width, rows[at:at+4096])
					at += 4096
				}
			})
		}
	}
}

// TestWords holds Words and ChunkedWords to their plain loops, for columns that lie
// against unmapped memory.
func TestWords(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 2, 31, 256} {
		for _, mode := range []guard.Mode{guard.Tail, guard.Head} {
			for _, step := range []int{1, 5, 32} {
				const rows = 64
				a := guard.New(mode)
				defer func() {
					if err := a.Close(); err != nil {
						t.Error(err)
					}
				}()
				var columns [3][]uint32
				var starts []unsafe.Pointer
				for i := range columns {
					block, err := a.Allocate(rows * 4)
					if err != nil {
						t.Fatal(err)
					}
					columns[i] = unsafe.Slice((*uint32)(unsafe.Pointer(&block.Bytes[0])), rows)
					for k := range columns[i] {
						columns[i][k] = r.Uint32()
					}
					starts = append(starts, unsafe.Pointer(&columns[i][0]))
					defer a.Free(block)
				}
				block, err := a.Allocate(int64(4 * ((n-1)*step + 1)))
				if err != nil {
					t.Fatal(err)
				}
				defer a.Free(block)
				to := unsafe.Slice((*uint32)(unsafe.Pointer(&block.Bytes[0])), len(block.Bytes)/4)
				numbers, chunk, places := make([]int64, n), make([]int32, n), make([]int32, n)
				for i := range numbers {
					numbers[i], chunk[i], places[i] = r.Int64N(rows), r.Int32N(3), int32(n-1-i)
				}
				numbers[0], numbers[n-1] = rows-1, 0
				want := slices.Clone(to)
				plainWords(want, step, places, starts[0], numbers)
				if Words(to, step, places, starts[0], numbers, starts[1], numbers); !slices.Equal(to, want) {
					t.Fatalf("%d words, %d apart: others than the plain loop's", n, step)
				}
				plainChunkedWords(want, step, places, starts, numbers, chunk)
				if ChunkedWords(to, step, places, starts, numbers, chunk, starts); !slices.Equal(to, want) {
					t.Fatalf("%d words of chunks, %d apart: others than the plain loop's", n, step)
				}
			}
		}
	}
}
