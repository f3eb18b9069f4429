package gpu

import (
	"encoding/binary"
	"math/rand/v2"
	"sort"
	"testing"
	"time"

	"github.com/volley-go/volley/kernels"
)

// TestZoneTable holds the tables, read as zone_offset of temporal.h reads them,
// to package time.
func TestZoneTable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia", "Europe/Dublin", "Etc/GMT+5"} {
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		z := zoneTableOf(loc)
		word := func(i int) int64 { return int64(binary.LittleEndian.Uint64(z.words[8*i:])) }
		n := int(z.stretches)
		look := func(second int64) int64 {
			if second > z.fold {
				second = z.fold + (second-z.fold)%zoneCycle
			}
			return word(n + sort.Search(n, func(i int) bool { return word(i) > second }) - 1)
		}
		check := func(second int64) {
			if got, want := look(second), kernels.LocalOffset(loc, second); got != want {
				t.Fatalf("%s at %d: an offset of %d, want %d", name, second, got, want)
			}
		}
		for i := 1; i < n; i++ {
			check(word(i) - 1)
			check(word(i))
		}
		for range 5000 {
			check(r.Int64N(2e10) - 5e9)    // 1811 to 2445
			check(r.Int64N(4e12) - 2e12)   // 126 thousand years
			check(int64(r.Uint64()) >> 10) // half a billion years
		}
	}
}
