package cpu

import "github.com/volley-go/volley/kernels"

// closeLeast is from how many right rows, of distinct keys that are close to each other,
// closeJoin takes less time than an array over their range, and a column, that are read
// at random for each left row: of two columns a side it takes as long at 1e6 rows, 11.9 ns
// for 17.5 at 2e6 and 11.8 for 40 at 1e8. Tests have fewer.
var closeLeast = int64(1 << 20)

// joinsDistinct is so where a part's array fits the second-level cache (closeCache); with
// smaller ones it was not measured.
func (l *loops) joinsDistinct(rows int64) bool { return l.lines.closeFrom > 0 && rows >= closeLeast }

// joining puts the join kernels into s.
func (l *loops) joining(s *kernels.Set) {
	s.JoinBuild = kernels.Entry[kernels.JoinBuildFunc]{Func: l.joinBuild, Types: kernels.KeyTypes}
	s.JoinColumns = l.joinColumns
	s.JoinsDistinct = l.joinsDistinct
	s.Cross = kernels.Entry[kernels.CrossFunc]{Func: cross}
}
