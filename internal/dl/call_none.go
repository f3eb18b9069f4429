//go:build cpuonly || !(darwin || windows || (linux && !android)) || !(amd64 || arm64)

package dl

import "errors"

// Available says whether this program can load libraries at run time.
const Available = false

var errNotBuilt = errors.New(NotBuilt)

// Call does nothing: without run-time loading there is no function to call.
func Call(uintptr, ...uintptr) uintptr { return 0 }

// Bind is an error: without run-time loading there is no function to bind.
func (l *Library) Bind(any, string) error { return errNotBuilt }

// Callback is 0: without run-time loading nothing would call it.
func Callback(any) uintptr { return 0 }

func load(string) (uintptr, error) { return 0, errNotBuilt }

func find(uintptr, string) (uintptr, error) { return 0, errNotBuilt }

func unload(uintptr) error { return errNotBuilt }
