// Command build compiles the emulated CUDA driver and all kernels for it and
// prints the shell commands that make programs use them:
//
//	eval "$(go run ./internal/cuemu/build)"
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/volley-go/volley/internal/cuemu"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	variables, err := cuemu.Prepare(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, v := range variables {
		fmt.Printf("export %s='%s'\n", v.Name, strings.ReplaceAll(v.Value, "'", `'\''`))
	}
}
