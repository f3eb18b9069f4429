//go:build !unix

package cuemu

import "errors"

func lock(string) (unlock func(), err error) {
	return nil, errors.New("the emulated CUDA driver is for Linux")
}
