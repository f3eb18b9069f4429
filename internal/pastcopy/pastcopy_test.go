package pastcopy

import (
	"bytes"
	"testing"

	"github.com/volley-go/volley/internal/guard"
)

// Copy is the language's, of any length and wherever in a line its ends lie, against unmapped memory.
func TestCopy(t *testing.T) {
	for _, mode := range []guard.Mode{guard.Tail, guard.Head} {
		a := guard.New(mode)
		for n := 1; n <= 5*Line; n++ {
			for _, shift := range []int{0, 1, 8, 63} {
				from, err := a.Allocate(int64(n))
				if err != nil {
					t.Fatal(err)
				}
				to, err := a.Allocate(int64(n + shift))
				if err != nil {
					t.Fatal(err)
				}
				for i := range from.Bytes {
					from.Bytes[i] = byte(i*7 + n)
				}
				want := bytes.Clone(to.Bytes)
				copy(want[shift:], from.Bytes)
				Copy(to.Bytes[shift:], from.Bytes)
				if Fence(); !bytes.Equal(to.Bytes, want) {
					t.Fatalf("%d bytes at %d: other bytes", n, shift)
				}
				a.Free(from)
				a.Free(to)
			}
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
