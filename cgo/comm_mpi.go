package main

// #include "base.h"
import "C"

import (
	"context"
	"errors"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/mpi"
	"github.com/volley-go/volley/collective/transport/rendezvous"
	"github.com/volley-go/volley/device"
)

// joinMPI makes the Comm of all ranks of an MPI job.
func joinMPI(ctx context.Context, o collective.Options) (*collective.Comm, error) {
	ends, err := mpi.Join(ctx, rendezvous.World{}, mpi.Options{})
	if err != nil {
		return nil, &device.Error{Call: "transport mpi", Kind: device.ErrUnavailable, Cause: err}
	}
	c, err := collective.New(ends, o)
	if err != nil {
		return nil, errors.Join(err, ends.Close())
	}
	return c, nil
}

//export go_volley_comm_finalize
func go_volley_comm_finalize(limit C.int64_t, t C.uintptr_t) C.int32_t {
	return long("volley_comm_finalize", t, func(*keeper) (work, error) {
		if limit <= 0 {
			return nil, mismatch("milliseconds is %d", int64(limit))
		}
		return func(ctx context.Context) (outcome, error) {
			bounded, cancel := context.WithTimeout(ctx, milliseconds(limit))
			defer cancel()
			return outcome{}, own(ctx, mpi.Finalize(bounded))
		}, nil
	})
}
