// Command licenses keeps the licences of the modules that libvolley links in cgo/licenses, which the wheel and an installed library carry.
//
//	go run ./internal/licenses            # writes the folder
//	go run ./internal/licenses -check     # fails where it is not what the modules say
//
// A module without a licence, or with one that is not of the kinds below, is an error either way.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", ".", "the module's root")
	check := flag.Bool("check", false, "compare and write nothing")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

// run holds the folder against the modules, or writes it.
func run(root string, check bool) error {
	all, err := linked(root, "./cgo", "linux")
	if err != nil {
		return err
	}
	texts, err := collect(all)
	if err != nil {
		return err
	}
	if check {
		return compare(folder(root), texts)
	}
	return write(folder(root), texts)
}
