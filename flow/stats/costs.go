package stats

import "github.com/volley-go/volley/device"

const (
	// apartLeast is from how many right rows, of distinct keys that are close to each other,
	// a join of columns by parts takes less time than an array over the keys' range, and a
	// column, that are read at random for each left row: of two columns a side it takes as
	// long at 1e6 rows, 11.9 ns for 17.5 at 2e6 and 11.8 for 40 at 1e8.
	apartLeast = 1 << 20
	// apartCache is the second-level cache in which the array of a part stays. With smaller ones
	// it was not measured, nor in loops without AVX2.
	apartCache = 1 << 20
)

// JoinsApart says whether a join of columns that is told kernels.JoinOptions.Distinct most likely
// takes less time on a device, by the kernels of a tier, than a table does, where the keys of so
// many right rows are close to each other and none comes twice.
func JoinsApart(on device.Info, tier string, rows int64) bool {
	return rows >= apartLeast && on.CacheL2 >= apartCache && tier != "generic"
}
