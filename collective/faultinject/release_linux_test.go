package faultinject

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Ranks with events give their shared memory back when they are closed, those that were killed too: a minute of short worlds
// would fill the machine.
func TestRelease(t *testing.T) {
	mappings := func() int {
		text, err := os.ReadFile("/proc/self/maps")
		require.NoError(t, err)
		return strings.Count(string(text), fmt.Sprintf("/volley-%d-", os.Getuid()))
	}
	before := mappings()
	for _, kind := range []Kind{Kill, Freeze, Delay, Partition} {
		err := patiently(openShm, subjects()[0], []Event{{Rank: victim, N: 1, Kind: kind, Others: []int{0}}})
		require.NoError(t, err, "%v", kind)
	}
	for end := time.Now().Add(limit); mappings() > before; time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(end), "%d mappings, %d before", mappings(), before)
	}
}
