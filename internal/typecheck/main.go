// Command typecheck checks the types of all packages of this module, and of their tests, as they are for other systems, from source:
// every package that they import is read, not compiled, which takes a tenth of a build's time.
//
//	typecheck darwin/arm64 windows/amd64
//
// Beyond types it wants a body for each function of a package that has no assembly, as the compiler does. Code for a processor is for a
// compiler to check; see the builds of scripts/test.sh.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

func main() {
	failed := len(os.Args) < 2
	if failed {
		fmt.Fprintln(os.Stderr, "typecheck SYSTEM/PROCESSOR...")
	}
	for _, target := range os.Args[1:] {
		system, processor, _ := strings.Cut(target, "/")
		n, err := check(".", system, processor)
		if err == nil && n == 0 {
			err = errors.New("no packages")
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", target, err)
			failed = true
			continue
		}
		fmt.Printf("%s: %d packages with tests\n", target, n)
	}
	if failed {
		os.Exit(1)
	}
}
