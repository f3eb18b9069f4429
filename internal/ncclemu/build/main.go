// Command build compiles the emulated NCCL and prints where it is:
//
//	VOLLEY_NCCL_LIBRARY=$(go run ./internal/ncclemu/build)
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/volley-go/volley/internal/ncclemu"
)

func main() {
	library, err := ncclemu.Prepare(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(library)
}
