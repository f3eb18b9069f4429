package inproc

import (
	"context"
	"testing"

	"github.com/volley-go/volley/collective/transport/transporttest"
)

func TestTransport(t *testing.T) {
	transporttest.Run(t, func(t *testing.T, n int) []transporttest.End {
		ends := make([]transporttest.End, n)
		for r, e := range New(n) {
			ends[r] = transporttest.End{Endpoint: e}
		}
		return ends
	})
}

func TestSplitNamesWhatIsWrong(t *testing.T) {
	ends := New(3)
	for _, c := range []struct {
		members []int
		want    string
	}{
		{[]int{0, 3}, `split "x": there is no rank 3 among 3`},
		{[]int{1, 2}, `split "x": rank 0 is not among its members`},
	} {
		if _, err := ends[0].Split(context.Background(), "x", c.members); err == nil || err.Error() != c.want {
			t.Errorf("Split(%v): %v, want %s", c.members, err, c.want)
		}
	}
}
