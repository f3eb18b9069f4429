package slots

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What is set holds until it is undone, in the order in which it was set.
func TestSet(t *testing.T) {
	require.Equal(t, 1024, First(1024))
	outer := Set(Places, true)
	require.Equal(t, Few, First(1024))
	inner := Set(None, false)
	require.Equal(t, None, Kept)
	require.Equal(t, 1024, First(1024))
	inner()
	require.Equal(t, Places, Kept)
	require.Equal(t, Few, First(1024))
	outer()
	require.Equal(t, All, Kept)
	require.Equal(t, 1024, First(1024))
}
