"""A rank of a Gloo world, through torch.distributed, that bench/collective times. See command.go for the lines.
Called with the socket, the meeting's port, the rank and the number of ranks."""
import os
import socket
import sys
import time

path, port, rank, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
cpus = sorted(os.sched_getaffinity(0))
os.sched_setaffinity(0, {cpus[rank % len(cpus)]})
os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")

import torch
import torch.distributed as dist

torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size)
room, given, result = 0, None, None


def value(r, start, n):
    i = torch.arange(start, start + n, dtype=torch.int64)
    return ((i * 7 + r * 13) % 101).float()


def total(start, n):
    return sum(value(r, start, n) for r in range(size))


def extent(op, n):
    return n if op in ("allreduce", "broadcast", "reduce") else n * size


def fill(op, place, n):
    given[: extent(op, n)] = value(rank, 0, extent(op, n))
    result[: extent(op, n)] = -1
    if op == "allgather" and place:
        result[rank * n : (rank + 1) * n] = given[:n]
    elif op == "broadcast" and rank == 0 or place and op in ("allreduce", "reduce"):
        result[:n] = given[:n]


def prepare(op, place, n):
    """The call, its views of memory made beforehand; an engine that has none says why."""
    out, blocks = result[:n], list(result[: extent(op, n)].split(n))
    if op == "allreduce" and place:
        return lambda: dist.all_reduce(out)
    if op == "broadcast":
        return lambda: dist.broadcast(out, 0)
    if op == "reduce" and place:
        return lambda: dist.reduce(out, 0)
    if op == "allgather" and not place:
        return lambda: dist.all_gather(blocks, given[:n])
    if op == "gather":
        return lambda: dist.gather(given[:n], blocks if rank == 0 else None)
    if op == "scatter":
        parts = list(given[: n * size].split(n))
        return lambda: dist.scatter(out, parts if rank == 0 else None)
    if op == "alltoall":
        return lambda: dist.all_to_all_single(result[: n * size], given[: n * size])
    return None


def expected(op, n):
    if op == "allreduce" or op == "reduce" and rank == 0:
        return total(0, n)
    if op == "broadcast":
        return value(0, 0, n)
    if op == "scatter":
        return value(0, rank * n, n)
    if op == "allgather" or op == "gather" and rank == 0:
        return torch.cat([value(r, 0, n) for r in range(size)])
    if op == "alltoall":
        return torch.cat([value(r, rank * n, n) for r in range(size)])
    return result[:0]


def answer(line):
    global room, given, result
    act, op, place, n, times = line.split()
    place, n, times = int(place), int(n), int(times)
    if extent(op, n) > room:
        room = extent(op, n)
        given, result = torch.empty(room), torch.empty(room)
    call = prepare(op, place, n)
    if call is None:
        return "lacks Gloo has no such operation, or not in this place"
    if act == "check":
        fill(op, place, n)
        call()
        want = expected(op, n)
        return f"ok {int((result[: len(want)] != want).sum())}"
    given.zero_()
    result.zero_()
    dist.barrier()
    start = time.perf_counter()
    for _ in range(times):
        call()
    return f"ok {time.perf_counter() - start:.9f}"


link = socket.socket(socket.AF_UNIX)
link.connect(path)
lines = link.makefile("rw")
print("hello", rank, "torch", torch.__version__, file=lines, flush=True)
for line in lines:
    try:
        print(answer(line), file=lines, flush=True)
    except RuntimeError as e:
        print("error", " ".join(str(e).split())[:200], file=lines, flush=True)
