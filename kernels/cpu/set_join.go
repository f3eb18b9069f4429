package cpu

import "github.com/volley-go/volley/kernels"

// From how many right rows it takes less time to cut both sides than to read an array
// over the range of distinct, close keys, and a column, at random for each left row.
// Measured on Intel, ns a row of 16 bytes a side. Any order: 18.9 for 27.3 at 3e7 rows,
// 22.5 for 40 at 1e8; about the same at 1e7, where the array needs 20 bytes a row less.
// Left order: 29 for 27.4 at 3e7, 30.7 for 32 to 34 at 7e7, 33 for 36 to 41 at 1e8. On AMD
// the array takes 12.0 for 17.1 at 3e7; more rows were not measured there.
const (
	distinctAny  = 1 << 24
	distinctLeft = 1 << 26
)

func (l *loops) joinsDistinct(rows int64, anyOrder bool) bool {
	least := int64(distinctLeft)
	if anyOrder {
		least = distinctAny
	}
	return l.lines.from > 0 && rows >= least
}

// joining puts the join kernels into s.
func (l *loops) joining(s *kernels.Set) {
	s.JoinBuild = kernels.Entry[kernels.JoinBuildFunc]{Func: l.joinBuild, Types: kernels.KeyTypes}
	s.JoinColumns = l.joinColumns
	s.JoinsDistinct = l.joinsDistinct
	s.Cross = kernels.Entry[kernels.CrossFunc]{Func: cross}
}
