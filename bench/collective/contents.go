package collective

// value is element i of what rank r gives. Sums of them are exact.
func value(r, i int64) float32 { return float32((i*7 + r*13) % 101) }

// extent is the elements of all that a command works on.
func (r *rank) extent(c command) int64 {
	if c.op.blocks {
		return c.count * int64(r.comm.Size())
	}
	return c.count
}

// fill gives the memory of a command its first contents.
func (r *rank) fill(c command) {
	me, n, all := int64(r.comm.Rank()), c.count, r.extent(c)
	for i := range all {
		r.in[i], r.out[i] = value(me, i), -1
	}
	switch {
	case c.op.name == "broadcast" && me != 0:
	case c.op.name == "allgather" && c.inPlace:
		copy(r.out[me*n:(me+1)*n], r.in)
	case c.inPlace:
		copy(r.out, r.in[:all])
	}
}

// wrong counts the elements of a command's result that are not the expected ones.
func (r *rank) wrong(c command) (bad int64) {
	me, size, n := int64(r.comm.Rank()), int64(r.comm.Size()), c.count
	total := func(i int64) (s float32) {
		for q := range size {
			s += value(q, i)
		}
		return s
	}
	differ := func(got, want float32) {
		if got != want {
			bad++
		}
	}
	for i := range n {
		switch c.op.name {
		case "allreduce":
			differ(r.out[i], total(i))
		case "reduce":
			if me == 0 {
				differ(r.out[i], total(i))
			}
		case "broadcast":
			differ(r.out[i], value(0, i))
		case "reducescatter":
			at := i
			if c.inPlace {
				at += me * n
			}
			differ(r.out[at], total(me*n+i))
		case "scatter":
			differ(r.out[i], value(0, me*n+i))
		case "allgather", "gather", "alltoall":
			for q := range size {
				switch {
				case c.op.name == "alltoall":
					differ(r.out[q*n+i], value(q, me*n+i))
				case c.op.name == "allgather" || me == 0:
					differ(r.out[q*n+i], value(q, i))
				}
			}
		}
	}
	return bad
}
