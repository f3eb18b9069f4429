package kerneltest

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/memory"
)

func cross(s *Suite) {
	for _, c := range [][3]int64{
		{0, 0, 0}, {0, 3, 0}, {5, 0, 3}, {0, 1, 1}, {7, 3, 5}, {0, 65, 31}, {1 << 32, 2, 3}, {1<<32 - 4, 4, 2},
		{3, 1, 300}, {0, 500, 400}, {0, 2, s.Long() / 2}, {-1, 1, 1}, {0, -1, 1}, {0, 1, -1}, {0, 1 << 40, 1 << 40}, {1<<63 - 1, 2, 1},
	} {
		n := c[1] * c[2]
		call := Call{Case: Case{Type: arrow.PrimitiveTypes.Uint32, Length: n}, Note: fmt.Sprintf("[%d, +%d) by %d", c[0], c[1], c[2])}
		run := func(e *Env) (Result, error) {
			p, err := e.Cross(e.Ctx, e.Stream, c[0], c[1], c[2])
			if err != nil {
				return Result{}, err
			}
			return Result{Columns: []*memory.Column{p.Left, p.Right}}, nil
		}
		s.Check(call, run)
		if n == 15 || n == 200_000 {
			s.Faults(call, run)
		}
	}
}

func benchCross(b *Bencher) {
	b.Measure(fmt.Sprintf("rows=%s", count(b.Rows)), 8*b.Rows, func(e *Env) (Result, error) {
		p, err := e.Cross(e.Ctx, e.Stream, 0, b.Rows/1000, 1000)
		if err != nil {
			return Result{}, err
		}
		return Result{Columns: []*memory.Column{p.Left, p.Right}}, nil
	})
}
