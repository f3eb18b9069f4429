//go:build !linux

package main

import "net"

// holdPort is a port of the loopback device that nobody listens on: this system has no way to hold it for rank 0.
func holdPort() (port int, letGo func(), err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, nil, err
	}
	return ln.Addr().(*net.TCPAddr).Port, func() {}, ln.Close()
}
