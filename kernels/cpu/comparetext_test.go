package cpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
)

// orderTexts are texts of which many begin alike, for up to 60 bytes, and many are the same.
func orderTexts(r *rand.Rand, n int) []string {
	const alike = "\x00\x80ab\xff\x00cd of which the rest is longer than all words looked at"
	v := make([]string, n)
	deep := len(alike)
	for i := range v {
		if i%64 == 0 { // rows that one word of bits has agree in as many bytes
			deep = r.IntN(len(alike) + 1)
		}
		v[i] = alike[:r.IntN(2)*deep+r.IntN(2)*r.IntN(len(alike)-deep+1)] + "\x00\x00\xffa"[:r.IntN(5)]
	}
	return v
}

// Texts compare as Go's strings do, with one value and with each other, in every tier and
// by any number of threads: rows that eight bytes decide and those that take more.
func TestCompareTexts(t *testing.T) {
	b, s, _ := counted(t)
	r := rand.New(rand.NewPCG(testSeed, 20))
	v, w := orderTexts(r, morsel+777), orderTexts(r, morsel+777)
	for i := range w {
		if r.IntN(3) == 0 {
			w[i] = v[i]
		}
	}
	sets, counts := Tiers(), []int{1, 7}
	if raceDetector {
		sets, counts = sets[:1], counts[1:]
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	ops := []func(a, b string) bool{
		func(a, b string) bool { return a == b }, func(a, b string) bool { return a != b },
		func(a, b string) bool { return a < b }, func(a, b string) bool { return a <= b },
		func(a, b string) bool { return a > b }, func(a, b string) bool { return a >= b },
	}
	ones := []string{"", "\x00", "\x00\x80ab\xff\x00c", v[0][:min(8, len(v[0]))], "b", strings.Repeat("\xff", 9), "\x00\x80ab\xff\x00cd of whic", w[700], w[7000]}
	for _, wide := range []bool{false, true} {
		type column = interface {
			kernels.Datum
			Release()
		}
		var both [2]column
		typ := arrow.DataType(arrow.BinaryTypes.String)
		if wide {
			typ = arrow.BinaryTypes.LargeString
		}
		for i, x := range [][]string{v, w} {
			whole := textColumn(t, wide, append(make([]string, i), x...))
			c, err := whole.Slice(int64(3+i), int64(len(x)-5))
			whole.Release()
			if err != nil {
				t.Fatal(err)
			}
			both[i] = c
		}
		check := func(what string, op int, right kernels.Datum, of func(i int64) string) {
			for _, set := range sets {
				x := *b
				x.Set = set
				for _, threads := range counts {
					runtime.GOMAXPROCS(threads)
					got, err := x.Compare(context.Background(), s, kernels.CompareOp(op), both[0], right)
					if err != nil {
						t.Fatal(err)
					}
					for i := range got.Len() {
						if want := ops[op](v[i+3], of(i)); got.Bits().Get(i) != want {
							t.Fatalf("%s, %d threads, %s: %q %s %q is %t (seed %d)", set.Name, threads, what, v[i+3], kernels.CompareOp(op), of(i), !want, testSeed)
						}
					}
					got.Release()
				}
			}
		}
		for op := range ops {
			check("column", op, both[1], func(i int64) string { return w[i+3] })
			for _, one := range ones {
				check("scalar", op, kernels.Text(typ, one), func(int64) string { return one })
			}
		}
		for _, c := range both {
			c.Release()
		}
	}
}

// BenchmarkCompareTexts compares a million texts of 8 to 27 letters, which begin alike
// for 0, 8 or 40 of them more, with one value and with themselves shuffled or as they are.
func BenchmarkCompareTexts(b *testing.B) {
	x, s, _ := counted(b)
	for _, alike := range []string{"", "2026-07-", "https://example.org/a/path/with/segments"} {
		r := rand.New(rand.NewPCG(1, 2))
		v := make([]string, 1<<20)
		for i := range v {
			v[i] = alike + fmt.Sprintf("%x-%x", r.Uint64(), r.Uint64())[:8+r.IntN(20)]
		}
		middle := alike + "8"
		one := v[1]
		c := textColumn(b, false, v)
		again := textColumn(b, false, v)
		r.Shuffle(len(v), func(i, j int) { v[i], v[j] = v[j], v[i] })
		other := textColumn(b, false, v)
		for _, k := range []struct {
			name  string
			op    kernels.CompareOp
			right kernels.Datum
		}{
			{"equal/right=scalar", kernels.Equal, kernels.Text(arrow.BinaryTypes.String, one)},
			{"less/right=scalar", kernels.Less, kernels.Text(arrow.BinaryTypes.String, middle)},
			{"equal/right=column", kernels.Equal, other},
			{"equal/right=same", kernels.Equal, again},
			{"less/right=column", kernels.Less, other},
		} {
			for _, set := range Tiers() {
				y := *x
				y.Set = set
				b.Run(fmt.Sprintf("alike=%d/op=%s/tier=%s", len(alike), k.name, set.Name), func(b *testing.B) {
					b.SetBytes(c.Buffer(2).Len())
					for b.Loop() {
						m, err := y.Compare(context.Background(), s, k.op, c, k.right)
						if err != nil {
							b.Fatal(err)
						}
						m.Release()
					}
				})
			}
		}
		for _, c := range []interface{ Release() }{c, again, other} {
			c.Release()
		}
	}
}
