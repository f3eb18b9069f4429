//go:build unix && !linux

package main

import "syscall"

func endsWithParent(*syscall.SysProcAttr) {}

func staysOnThread() (leave func()) { return func() {} }
