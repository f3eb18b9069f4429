package cpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// A short text has the same words and hash whether it is read alone or by a loop
// beside others.
func TestShortWords(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range shortText + 1 {
		for range 50 {
			p := make([]byte, n)
			for i := range p {
				p[i] = byte(r.Uint32())
			}
			var words [1][2]uint64
			var hashes [1]uint64
			if !textWords(words[:], hashes[:], []int32{0, int32(n)}, p, noSlots) {
				t.Fatalf("%d bytes are too long", n)
			}
			if low, high := shortWords(p); low != words[0][0] || high != words[0][1] || hashText(p) != hashes[0] {
				t.Fatalf("%x: words %x, %x and %x, hashes %x and %x", p, words[0], low, high, hashText(p), hashes[0])
			}
		}
	}
}

// Joins of texts by every tier against plain loops: all short, some long on either
// side, with nulls, keys that come twice, and offsets of both widths.
func TestJoinShortTexts(t *testing.T) {
	const lefts, rights = 5000, 700
	short := func(i int) string { return fmt.Sprintf("k%d", i*i%977) }
	long := func(i int) string {
		if i%31 == 7 {
			return strings.Repeat("long", 4) + fmt.Sprint(i%3)
		}
		return short(i)
	}
	of := func(i int) string { return strings.Repeat("\x00", i%16) }
	for name, c := range map[string]struct {
		left, right func(i int) string
		null        func(side, i int) bool
		typ         arrow.DataType
	}{
		"short":      {short, short, nil, arrow.BinaryTypes.String},
		"once":       {short, func(i int) string { return fmt.Sprint("k", i) }, nil, arrow.BinaryTypes.LargeString},
		"long left":  {long, short, nil, arrow.BinaryTypes.String},
		"long right": {short, long, nil, arrow.BinaryTypes.Binary},
		"long both":  {long, long, nil, arrow.BinaryTypes.String},
		"null left":  {short, short, func(side, i int) bool { return side == 0 && i%5 == 1 }, arrow.BinaryTypes.String},
		"null right": {short, short, func(side, i int) bool { return side == 1 && i%3 == 1 }, arrow.BinaryTypes.String},
		"null long":  {long, short, func(_, i int) bool { return i%31 == 7 || i%4 == 0 }, arrow.BinaryTypes.String},
		"null both":  {short, short, func(_, i int) bool { return i%5 == 1 }, arrow.BinaryTypes.LargeBinary},
		"zero bytes": {of, func(i int) string { return of(i * 7) }, nil, arrow.BinaryTypes.String},
	} {
		t.Run(name, func(t *testing.T) {
			isNull := func(side, i int) bool { return c.null != nil && c.null(side, i) }
			side := func(which, n int, text func(i int) string) *memory.Column {
				return makeColumn(t, c.typ, n, func(i int) kernels.Scalar {
					if isNull(which, i) {
						return kernels.Null(c.typ)
					}
					return kernels.Text(c.typ, text(i))
				})
			}
			left, right := side(0, lefts, c.left), side(1, rights, c.right)
			at := map[string][]uint32{}
			var nulls []uint32
			for i := range rights {
				if isNull(1, i) {
					nulls = append(nulls, uint32(i))
				} else {
					at[c.right(i)] = append(at[c.right(i)], uint32(i))
				}
			}
			for k, set := range append(Tiers(), Tiers()...) {
				o := kernels.JoinOptions{NullsEqual: k >= len(Tiers())}
				var wantLeft, wantRight []uint32
				for i := range lefts {
					rows := at[c.left(i)]
					if isNull(0, i) {
						rows = nil
						if o.NullsEqual {
							rows = nulls
						}
					}
					for _, row := range rows {
						wantLeft, wantRight = append(wantLeft, uint32(i)), append(wantRight, row)
					}
				}
				d := host.New()
				b := &kernels.Backend{Device: d, Set: set}
				s, err := b.NewStream()
				if err != nil {
					t.Fatal(err)
				}
				table, err := b.JoinBuild(context.Background(), s, []*memory.Column{right}, o)
				if err != nil {
					t.Fatal(err)
				}
				pairs, err := table.Probe(context.Background(), s, []*memory.Column{left}, kernels.InnerJoin, o)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(memory.Values[uint32](pairs.Left), wantLeft) || !slices.Equal(memory.Values[uint32](pairs.Right), wantRight) {
					t.Errorf("%s, %+v: %d pairs, want %d", set.Name, o, pairs.Left.Len(), len(wantLeft))
				}
				pairs.Release()
				table.Release()
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
