package stats

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/device"
)

// Distinct close keys are joined by parts from some number of rows on, where a part's array
// fits the second-level cache and the loops write lines.
func TestJoinsApart(t *testing.T) {
	large, small := device.Info{CacheL2: apartCache}, device.Info{CacheL2: apartCache - 1}
	require.True(t, JoinsApart(large, "avx2", apartLeast))
	require.False(t, JoinsApart(large, "avx512", apartLeast-1))
	require.False(t, JoinsApart(small, "avx512", 1<<40))
	require.False(t, JoinsApart(large, "generic", 1<<40))
}
