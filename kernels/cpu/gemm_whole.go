package cpu

import (
	"unsafe"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// The sizes of blocks, after Van Zee and van de Geijn, "BLIS: a framework for
// rapidly instantiating BLAS functionality" (2015): a block of A stays in the
// second-level cache of a core, a piece of B as deep in the last, which all
// share.
const (
	bytesA       = 384 << 10
	bytesB       = 4 << 20
	serialWork   = 1 << 20  // products that are not worth a second worker
	packPanels   = 16       // of B that a task packs at most
	fewPanels    = 16       // of B, for which A is not worth packing
	fewBytes     = 64 << 10 // of an operand that is not worth packing
	narrowPanels = 4        // panels of B, which are not worth packing where its rows follow one another
	taskTiles    = 64       // that a task has at least where B is not packed
	keepLine     = 2 << 10  // from a row of B to the next at most where tiles pack: loads farther apart are not foreseen by the processor
)

// schedule is a product of blocks: for a piece of columns after the other, and
// in each for a block of depth after the other, B is packed by all, then rows of
// C are computed by all. A piece of work is begun when what it needs is there,
// so that nobody waits at a barrier: B has two places, and one where one worker
// finds it in its cache when it is packed again.
type schedule[T float] struct {
	*product[T]
	grid
	panels  int  // columns of tiles in a piece of B
	packs   int  // tasks that pack a piece, 0 where B is taken from where it lies
	packing int  // rows of tiles that these compute: one, or none
	blocks  int  // of rows of tiles
	parts   int  // of a piece's columns, where blocks are few
	deep    int  // blocks of depth in a step: one where B is packed
	depths  int  // steps of a piece
	directA bool // A is taken from where it lies
	packedB *memory.Buffer
	b       []T // the places
	places  int
	rooms   *rooms
	team    private[worker[T]]
	zero    [maxTileCols]T
	order   order
}

// whole computes C by blocks.
func (p *product[T]) whole() error {
	team := workers()
	if p.c.rows*p.c.cols < serialWork/p.depth {
		team = 1
	}
	parts := p.apart(team)
	all := make([]*schedule[T], len(parts))
	for i, part := range parts {
		all[i] = &schedule[T]{product: part, grid: part.grid()}
		all[i].plan(team, len(parts))
	}
	if team > 1 {
		return together(p.ctx, team, all)
	}
	return all[0].run()
}

// plan cuts the work. Blocks are several for each worker, so that one that the
// machine holds up is waited for less.
func (s *schedule[T]) plan(team, parts int) {
	var t T
	size := int(unsafe.Sizeof(t))
	pieces := ceil(s.across, max(bytesB/parts/(s.width*depthBlock*size), 1))
	s.panels = ceil(s.across, pieces)
	s.directA = s.product.directA(s.across)
	if !s.directB(s.across) {
		s.packs = ceil(s.panels, min(ceil(s.panels, max(2*team/parts, 1)), packPanels))
		if !s.transB && s.product.b.row*size <= keepLine {
			s.packing = 1
		}
	}
	least := ceil(s.down, max(bytesA/(s.packedA()*depthBlock*size), 1))
	s.blocks, s.parts = least, 1
	if team > 1 {
		s.blocks = max(least, min(4*team, ceil(s.down, 2)))
		if s.blocks*parts < 4*team {
			s.parts = max(min(ceil(4*team, s.blocks*parts), s.panels/4), 1)
		}
	}
	s.deep = 1
	if s.packs == 0 {
		s.deep = ceil(taskTiles*s.blocks*s.parts, s.down*s.panels)
	}
	s.depths = ceil(s.depth, s.deep*depthBlock)
	s.order.begin(ceil(s.across, s.panels)*s.depths, s.packs, s.blocks*s.parts)
}

// open makes the places and the rooms, which close gives back.
func (s *schedule[T]) open(team int) error {
	var t T
	size := int64(unsafe.Sizeof(t))
	s.rooms = newRooms(s.alloc, int64(ceil(s.down, s.blocks)*s.packedA()*min(depthBlock, s.depth)+maxTileCols)*size)
	if s.packs == 0 {
		return nil
	}
	s.places = min(team, 2)
	b, err := memory.New(s.alloc, int64(s.places*(s.panels*s.width*min(depthBlock, s.depth)+maxTileCols))*size)
	if err != nil {
		return err
	}
	s.packedB, s.b = b, memory.View[T](b)
	return nil
}

func (s *schedule[T]) close() {
	s.rooms.release()
	if s.packedB != nil {
		s.packedB.Release()
	}
}

// run computes with one worker.
func (s *schedule[T]) run() error {
	if err := s.open(1); err != nil {
		return err
	}
	defer s.close()
	for i := range s.order.tasks() {
		if err := device.Canceled(s.ctx, "cpu", ""); err != nil {
			return err
		}
		if err := s.task(0, i); err != nil {
			return err
		}
	}
	return nil
}

// task packs a part of B or computes a block of C.
func (s *schedule[T]) task(worker, i int) (err error) {
	step, pack, i := s.order.task(i)
	well := false
	defer func() {
		if !well { // with an error or a panic: those who wait for this one go on
			s.order.fail()
		}
	}()
	o := operands[T]{left: step / s.depths * s.panels, k: step % s.depths * s.deep * depthBlock, bottom: s.down}
	o.right, o.depth = min(o.left+s.panels, s.across), min(depthBlock, s.depth-o.k)
	if well = !s.order.wait(step, pack, i); well {
		return device.Canceled(s.ctx, "cpu", "") // else another task failed and has told
	}
	if pack {
		s.pack(worker, step, i, &o)
	} else if err := s.compute(worker, step, i, &o); err != nil {
		return err
	}
	s.order.finish(step, pack, i)
	well = true
	return nil
}

// place is where step's part of B lies.
func (s *schedule[T]) place(step int) []T {
	n := len(s.b) / s.places
	return s.b[step%s.places*n:][:n]
}

// pack packs a part of B: where it also computes, the panels that are whole by that.
func (s *schedule[T]) pack(worker, step, i int, o *operands[T]) {
	first, panels := o.left, o.right-o.left
	o.left, o.right, o.bottom = first+i*panels/s.packs, first+(i+1)*panels/s.packs, s.packing
	to := s.place(step)[(o.left-first)*s.width*o.depth:]
	if whole := min(o.right, s.cols/s.width); whole > o.left && s.packing > 0 {
		some := *o
		if some.right = whole; s.down > s.packing {
			some.keep = to
		}
		s.add(s.team.of(worker), nil, &some)
		o.left, to = whole, to[(whole-o.left)*s.width*o.depth:]
	}
	if o.left < o.right {
		s.packB(to, &s.grid, o)
		if o.b = to; s.packing > 0 {
			s.add(s.team.of(worker), nil, o)
		}
	}
}

func (s *schedule[T]) compute(worker, step, i int, o *operands[T]) error {
	first, panels, part := o.left, o.right-o.left, i%s.parts
	o.left, o.right = first+part*panels/s.parts, first+(part+1)*panels/s.parts
	block := i / s.parts
	rows := s.down - s.packing
	o.top, o.bottom = s.packing+block*rows/s.blocks, s.packing+(block+1)*rows/s.blocks
	if o.left == o.right || o.top == o.bottom {
		return nil
	}
	if s.packs > 0 {
		o.b = s.place(step)[(o.left-first)*s.width*o.depth:]
	}
	var a []T
	if !s.directA {
		room, err := s.rooms.get(worker)
		if err != nil {
			return err
		}
		a = memory.View[T](room)
	}
	w := s.team.of(worker)
	for end := min(o.k+s.deep*depthBlock, s.depth); o.k < end; o.k += o.depth {
		o.depth = min(depthBlock, end-o.k)
		s.add(w, a, o)
	}
	return nil
}

// add adds a block of depth to a block of C; a is where A is packed.
func (s *schedule[T]) add(w *worker[T], a []T, o *operands[T]) {
	r := result[T]{from: s.c.v, to: s.c.v, rowFrom: s.c.row, rowTo: s.c.row, alpha: s.alpha}
	if o.k == 0 && s.beta == 0 {
		r.from, r.rowFrom = s.zero[:], 0
	} else if top := s.row(o.top); o.k == 0 {
		s.scale(top, s.row(o.bottom)-top, s.col(o.left), s.col(o.right)-s.col(o.left))
	}
	if o.a = a; a != nil {
		s.packA(a, &s.grid, o)
	}
	s.multiply(w, &s.grid, o, &r)
}
