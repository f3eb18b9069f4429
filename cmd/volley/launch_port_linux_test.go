package main

import (
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// The port of a launch is nobody else's from its choice to its end: others who ask for a port get another one, and rank 0, which asks for it by name, has it.
func TestPortIsHeld(t *testing.T) {
	port, letGo, err := holdPort()
	require.NoError(t, err)
	at := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	for range 3 { // also again, after an earlier rank 0
		ln, err := net.Listen("tcp", at)
		require.NoError(t, err)
		conn, err := net.Dial("tcp", at)
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		require.NoError(t, ln.Close())
	}
	var others []net.Listener
	for range 2000 {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NotEqual(t, port, ln.Addr().(*net.TCPAddr).Port)
		others = append(others, ln)
	}
	for _, ln := range others {
		require.NoError(t, ln.Close())
	}
	letGo()
}
