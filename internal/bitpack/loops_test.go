package bitpack

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/volley-go/volley/internal/guard"
)

// arena gives slices that end, or begin, where unmapped memory does.
type arena struct {
	t     *testing.T
	alloc *guard.Allocator
}

// eachTier runs f for the loops of every tier, those in Go too.
func eachTier(t *testing.T, f func(t *testing.T, l *Loops, r *rand.Rand, mem arena)) {
	for _, l := range Tiers() {
		for _, mode := range []guard.Mode{guard.Tail, guard.Head} {
			t.Run(l.Name+"/"+mode.String(), func(t *testing.T) {
				f(t, l, rand.New(rand.NewPCG(1, 2)), arena{t, guard.New(mode)})
			})
		}
	}
}

// bytes is n bytes against unmapped memory, for use.
func (a arena) bytes(n int, use func(b []byte)) {
	a.t.Helper()
	block, err := a.alloc.Allocate(int64(n))
	if err != nil {
		a.t.Fatal(err)
	}
	b := block.Bytes[:n:cap(block.Bytes)]
	use(b)
	a.alloc.Free(block)
}

// words is bytes of numbers.
func (a arena) words(n int, use func(v []uint32)) {
	a.t.Helper()
	a.bytes(4*n, func(b []byte) { use(unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(b))), n)) })
}

func (a arena) close() {
	a.t.Helper()
	if err := a.alloc.Close(); err != nil {
		a.t.Error(err)
	}
}

// pack writes numbers of so many bits from a bit on.
func pack(b []byte, values []uint32, bit int, width uint) {
	for i, v := range values {
		for k := range width {
			at := bit + i*int(width) + int(k)
			b[at/8] = b[at/8]&^(1<<(at%8)) | byte(v>>k&1)<<(at%8)
		}
	}
}

// TestPacked: numbers of every width, from anywhere on and of every length up to some
// steps, are what was packed, looked up too, and nothing beyond is read or written.
func TestPacked(t *testing.T) {
	random := make([]uint32, 1<<Widest)
	for i := range random {
		random[i] = uint32(i+1) * 2654435761 // which no other has
	}
	eachTier(t, func(t *testing.T, l *Loops, r *rand.Rand, mem arena) {
		defer mem.close()
		for width := range uint(33) {
			table := random[:1<<min(width, Widest)]
			for n := range 70 {
				values, largest := make([]uint32, n), uint32(0)
				for i := range values {
					values[i] = uint32(r.Uint64() & (1<<width - 1) >> r.IntN(3))
					largest = max(largest, values[i])
				}
				bit := r.IntN(30) * int(width)
				last := bit + max(0, n-1)*int(width)
				mem.bytes(last/8+Slack, func(b []byte) {
					pack(b, values, bit, width)
					mem.words(n, func(to []uint32) {
						if got := l.Unpack(to, b, int64(bit), width); got != largest || !slices.Equal(to, values) {
							t.Fatalf("%d numbers of %d bits from bit %d on: %v, the largest %d; want %v, %d", n, width, bit, to, got, values, largest)
						}
					})
					if width == 0 || width > Widest {
						return
					}
					mem.words(n, func(to []uint32) {
						got := l.LookUp(to, table, b, int64(bit), width)
						for i, v := range values {
							if to[i] != table[v] || got != largest {
								t.Fatalf("%d numbers of %d bits from bit %d on: number %d is looked up wrongly, or %d not the largest", n, width, bit, i, got)
							}
						}
					})
				})
			}
		}
	})
}

// TestLookUpTable: the table is read nowhere beyond its end.
func TestLookUpTable(t *testing.T) {
	eachTier(t, func(t *testing.T, l *Loops, r *rand.Rand, mem arena) {
		defer mem.close()
		for width := uint(1); width <= 12; width++ {
			packed, to := make([]byte, 200*int(width)/8+Slack), make([]uint32, 200)
			for i := range packed {
				some, more := r.Uint32(), r.Uint32() // large numbers mostly
				packed[i] = byte(some | more)
			}
			mem.words(1<<width, func(table []uint32) {
				for i := range table {
					table[i] = uint32(i)
				}
				if got := l.LookUp(to, table, packed, 0, width); got != slices.Max(to) {
					t.Errorf("%d bits: the largest is %d, not %d", width, slices.Max(to), got)
				}
			})
		}
	})
}

// TestRows: any number of columns and rows is laid by rows, wider ones than there are
// columns too, whose rest stays.
func TestRows(t *testing.T) {
	eachTier(t, func(t *testing.T, l *Loops, r *rand.Rand, mem arena) {
		defer mem.close()
		for columns := 1; columns <= 40; columns++ {
			for _, n := range []int{0, 1, 7, 8, 15, 16, 17, 33, 64} {
				line, stride := n+r.IntN(3), columns+r.IntN(3)
				if n == 0 {
					l.Rows(nil, stride, nil, line, columns, n)
					continue
				}
				mem.words((columns-1)*line+n, func(from []uint32) {
					for i := range from {
						from[i] = uint32(i)
					}
					mem.words((n-1)*stride+columns, func(to []uint32) {
						for i := range to {
							to[i] = 1 << 31
						}
						l.Rows(to, stride, from, line, columns, n)
						for i, x := range to {
							want := uint32(1 << 31)
							if i%stride < columns {
								want = from[i%stride*line+i/stride]
							}
							if x != want {
								t.Fatalf("%d columns of %d rows, %d apart: element %d is %d, not %d", columns, n, stride, i, x, want)
							}
						}
					})
				})
			}
		}
	})
}

// TestPlaced: rows go to the places that are given, in any order, and what lies between
// these stays.
func TestPlaced(t *testing.T) {
	eachTier(t, func(t *testing.T, l *Loops, r *rand.Rand, mem arena) {
		defer mem.close()
		for columns := 1; columns <= 40; columns++ {
			for _, n := range []int{0, 1, 7, 8, 15, 16, 17, 33, 64} {
				line, stride, room := n+r.IntN(3), columns+r.IntN(3), n+r.IntN(9)
				places := make([]uint32, n)
				if n == 0 {
					l.Placed(nil, stride, places, nil, line, columns, n)
					continue
				}
				row := make([]int, room)
				for i, place := range r.Perm(room)[:n] {
					places[i], row[place] = uint32(place), i+1
				}
				mem.words((columns-1)*line+n, func(from []uint32) {
					for i := range from {
						from[i] = uint32(i)
					}
					mem.words((room-1)*stride+columns, func(to []uint32) {
						for i := range to {
							to[i] = 1 << 31
						}
						l.Placed(to, stride, places, from, line, columns, n)
						for i, x := range to {
							want := uint32(1 << 31)
							if i%stride < columns && row[i/stride] > 0 {
								want = from[i%stride*line+row[i/stride]-1]
							}
							if x != want {
								t.Fatalf("%d columns of %d rows, %d apart: element %d is %d, not %d", columns, n, stride, i, x, want)
							}
						}
					})
				})
			}
		}
	})
}

// TestSpread: what is marked of any number of rows goes to its places, be it few of
// sixteen or most, and other places but the one apart stay. Nothing is read behind the
// places.
func TestSpread(t *testing.T) {
	eachTier(t, func(t *testing.T, l *Loops, r *rand.Rand, mem arena) {
		defer mem.close()
		for columns := 1; columns <= Together; columns++ {
			for _, n := range []int{1, 15, 16, 17, 64, 80, 300, 333} {
				stride := columns + r.IntN(3)
				mask, places, row := make([]uint64, (n+63)/64+SpreadRoom), make([]uint32, n), make([]int, n+1)
				for i, place := range r.Perm(n) {
					places[i] = uint32(n)
					if r.IntN(16) < []int{1, 4, 8, 16}[i/16%4] {
						mask[i/64] |= 1 << (i % 64)
						places[i], row[place] = uint32(place), i+1
					}
				}
				var from [Together]*uint32
				mem.words(Together*n, func(all []uint32) {
					for i := range all {
						all[i] = uint32(i)
					}
					for c := range from {
						from[c] = &all[min(c, columns-1)*n]
					}
					mem.words(n*stride+columns, func(to []uint32) {
						for i := range to {
							to[i] = 1 << 31
						}
						mem.words(n, func(guarded []uint32) {
							copy(guarded, places)
							l.Spread(to, stride, guarded, &from, mask, columns)
						})
						for i, x := range to[:n*stride] {
							want := uint32(1 << 31)
							if i%stride < columns && row[i/stride] > 0 {
								want = uint32(i%stride*n + row[i/stride] - 1)
							}
							if x != want {
								t.Fatalf("%d columns of %d rows, %d apart: element %d is %d, not %d", columns, n, stride, i, x, want)
							}
						}
					})
				})
			}
		}
	})
}

// TestPick: what is marked of any number of words is kept, in room for that and no
// more too, and bits behind the words are not looked at.
func TestPick(t *testing.T) {
	eachTier(t, func(t *testing.T, l *Loops, r *rand.Rand, mem arena) {
		defer mem.close()
		for n := range 300 {
			mask := make([]uint64, (n+63)/64)
			for i := range mask {
				mask[i] = []uint64{0, ^uint64(0), r.Uint64(), r.Uint64() & r.Uint64() & r.Uint64()}[r.IntN(4)]
			}
			if n == 0 {
				if got := l.Pick(nil, nil, mask); got != 0 {
					t.Fatalf("%d of none", got)
				}
				continue
			}
			mem.words(n, func(from []uint32) {
				var want []uint32
				for i := range from {
					if from[i] = r.Uint32(); mask[i/64]>>(i%64)&1 != 0 {
						want = append(want, from[i])
					}
				}
				for _, room := range []int{0, 7, PickRoom} {
					mem.words(max(1, len(want)+room), func(to []uint32) {
						if got := l.Pick(to, from, mask); got != len(want) || !slices.Equal(to[:got], want) {
							t.Fatalf("%d words, room for %d more than are kept: %d, %v; want %d, %v", n, room, got, to, len(want), want)
						}
					})
				}
			})
		}
	})
}
