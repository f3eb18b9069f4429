package cpu

import "unsafe"

// maxTile is the elements of the largest tile of any tier, and twice its vector
// the most columns of one.
const (
	maxTileCols = 32
	maxTile     = 12 * maxTileCols
)

// worker is what one worker has of its own.
type worker[T float] struct {
	tile[T]
	edge [maxTile]T // for a tile whose columns are no whole vectors
}

// grid is the tiles of C: rows of nearly equal heights, the higher ones first,
// columns of two vectors and the rest.
type grid struct {
	rows, cols int // of C
	down       int // tiles
	across     int
	width      int // columns of a tile
	height     int // rows of the first tile
	high       int // tiles of that height; the others have a row less
}

func (p *product[T]) grid() grid {
	width := 2 * p.vector
	g := grid{rows: p.c.rows, cols: p.c.cols, down: ceil(p.c.rows, p.height), across: ceil(p.c.cols, width), width: width}
	g.height = ceil(g.rows, g.down)
	g.high = g.rows - g.down*(g.height-1)
	return g
}

// alike is how many rows of tiles from t on, before end, have the same height.
func (g *grid) alike(t, end int) int {
	if t < g.high {
		return min(g.high, end) - t
	}
	return end - t
}

// row and col are where a row or a column of tiles begins.
func (g *grid) row(tile int) int { return tile*(g.height-1) + min(tile, g.high) }
func (g *grid) col(tile int) int { return min(tile*g.width, g.cols) }

// operand is what tiles are made of: rows of tiles [top, bottom) of A and
// columns [left, right) of B, over the depth from k on.
type operands[T float] struct {
	top, bottom, left, right int
	k, depth                 int
	a, b                     []T // packed, from top and from left on; nil where tiles take it from where it lies
	keep                     []T // where panels of B, whole ones, are laid when tiles take it from where it lies; nil for nowhere
}

// packedA is the elements between two steps of a packed row of tiles.
func (p *product[T]) packedA() int { return p.height }

// directA tells whether A is taken from where it lies. To pack it pays where many
// panels need it, or where its columns are far apart; and a block of B that fits
// the second-level cache comes by for each row of tiles as fast as it is needed.
func (p *product[T]) directA(across int) bool {
	var t T
	if p.transA {
		return across <= 2 || p.a.rows*p.depth*int(unsafe.Sizeof(t)) <= fewBytes
	}
	return across <= fewPanels || p.a.rows*p.depth*int(unsafe.Sizeof(t)) <= fewBytes
}

// directB tells it of B: where it is small, or its rows are short and follow one
// another.
func (p *product[T]) directB(across int) bool {
	var t T
	if p.transB || !p.ragged && p.b.cols%p.vector != 0 {
		return false
	}
	return p.b.cols*p.depth*int(unsafe.Sizeof(t)) <= fewBytes || across <= narrowPanels && p.b.row <= 2*p.b.cols
}

// result is where a product goes: to, added to alpha times the sums the values
// from, or those of one row for all where rowFrom is 0.
type result[T float] struct {
	from, to       []T
	rowFrom, rowTo int
	alpha          T
}

// multiply computes tiles. A packed block of A stays in the second-level cache
// while panels of B come by, each for all of its rows; A that lies elsewhere is
// read once, a row of tiles for all panels. While tiles are computed, what the
// next ones need is asked for.
func (p *product[T]) multiply(w *worker[T], g *grid, o *operands[T], r *result[T]) {
	w.depth, w.alpha, w.rowFrom, w.rowTo = o.depth, r.alpha, r.rowFrom, r.rowTo
	if w.stepB = g.width; o.b == nil {
		w.stepB = p.b.row
	}
	deeper := o.b == nil && o.k+o.depth < p.depth && p.b.row <= 2*p.b.cols // then the next steps' B is next, and lies in one piece
	if o.a != nil {
		w.rowA, w.stepA = 1, p.packedA()
		for q := o.left; q < o.right; q++ {
			for t, n := o.top, 0; t < o.bottom; t += n {
				n = g.alike(t, o.bottom)
				w.ask, w.askStep = o.a, 0
				if deeper {
					p.askDeeper(w, o, t-o.top+(q-o.left)*(o.bottom-o.top))
				} else if o.b != nil {
					p.askPanel(w, g, o, t, q)
				}
				p.some(w, g, o, r, t, q, n, true)
			}
		}
		return
	}
	w.rowA, w.stepA = p.a.row, p.a.col
	follow := p.a.col == 1 && p.a.row <= 2*o.depth
	for t := o.top; t < o.bottom; t++ {
		for q, n := o.left, 0; q < o.right; q += n {
			n = max(min(o.right, g.cols/g.width)-q, 1) // all but one that is narrower
			w.ask, w.askStep = p.a.v, 0
			if o.keep != nil {
				n, w.ask, w.askStep = 1, p.b.v[min(o.k*p.b.row+g.col(q+1), len(p.b.v)):], p.b.row
			} else if deeper {
				p.askDeeper(w, o, (t-o.top)*(o.right-o.left)+q-o.left)
			} else if follow && t+1 < g.down {
				from, to := g.row(t+1)*p.a.row, g.row(t+2)*p.a.row
				w.ask, w.askStep = share(p.a.v[o.k:], from, to, q-o.left, o.right-o.left, o.depth)
			}
			p.some(w, g, o, r, t, q, n, false)
		}
	}
}

// askDeeper asks, with the i-th of o's tiles, for its share of the rows of B of the
// next block of depth.
func (p *product[T]) askDeeper(w *worker[T], o *operands[T], i int) {
	from := (o.k + o.depth) * p.b.row
	w.ask, w.askStep = share(p.b.v, from, from+o.depth*p.b.row, i, (o.right-o.left)*(o.bottom-o.top), o.depth)
}

// askPanel does so for the next packed panel of B, which after the last is the
// first: the next block of rows begins with it.
func (p *product[T]) askPanel(w *worker[T], g *grid, o *operands[T], t, q int) {
	panel := g.width * o.depth
	next := (q + 1 - o.left) % (o.right - o.left) * panel
	w.ask, w.askStep = share(o.b, next, next+panel, t-o.top, o.bottom-o.top, o.depth)
}

// share is where the i-th of n parts of v[from:to] begins, and how far apart its
// elements are asked for in so many steps.
func share[T float](v []T, from, to, i, n, steps int) (part []T, step int) {
	return v[min(from+(to-from)*i/n, len(v)):], ceil(to-from, n*steps)
}

// some computes n tiles, of the same height and width, from the one in row t and
// column q on: down, where A is packed, or across.
func (p *product[T]) some(w *worker[T], g *grid, o *operands[T], r *result[T], t, q, n int, down bool) {
	i, j := g.row(t), g.col(q)
	w.rows, w.cols = g.row(t+1)-i, g.col(q+1)-j
	w.nextA, w.nextB, w.nextFrom, w.nextTo = p.packedA()*o.depth, 0, w.rows*r.rowFrom, w.rows*r.rowTo
	if !down {
		w.nextA, w.nextB, w.nextFrom, w.nextTo = 0, g.width, g.width, g.width
		if o.b != nil {
			w.nextB = g.width * o.depth
		}
		if r.rowFrom == 0 {
			w.nextFrom = 0
		}
	}
	if o.a == nil {
		w.a = p.a.v[i*p.a.row+o.k*p.a.col:]
	} else {
		w.a = o.a[(t-o.top)*p.packedA()*o.depth:]
	}
	if o.b == nil {
		w.b = p.b.v[o.k*p.b.row+j:]
	} else {
		w.b = o.b[(q-o.left)*g.width*o.depth:]
	}
	if w.keep = nil; o.keep != nil {
		w.keep = o.keep[(q-o.left)*g.width*o.depth:]
	}
	w.to = r.to[i*r.rowTo+j:]
	if w.from = r.from; r.rowFrom != 0 {
		w.from = r.from[i*r.rowFrom+j:]
	}
	if w.tiles = n; p.ragged || w.cols%p.vector == 0 {
		p.tile(&w.tile)
		return
	}
	p.aside(w, g.width)
	if n > 1 {
		p.some(w, g, o, r, t+1, q, n-1, down)
	}
}

// aside computes a tile whose columns are no whole vectors, in memory of its
// own.
func (p *product[T]) aside(w *worker[T], width int) {
	to, cols, rowFrom, rowTo := w.to, w.cols, w.rowFrom, w.rowTo
	for r := range w.rows {
		copy(w.edge[r*width:][:cols], w.from[r*rowFrom:])
	}
	w.from, w.to, w.rowFrom, w.rowTo, w.cols, w.tiles = w.edge[:], w.edge[:], width, width, roundUp(cols, p.vector), 1
	p.tile(&w.tile)
	for r := range w.rows {
		copy(to[r*rowTo:][:cols], w.edge[r*width:])
	}
	w.rowFrom, w.rowTo = rowFrom, rowTo
}

// packA lays the rows of tiles of o side by side: for each step of the depth a
// tile's elements lie together. What a vector has besides them goes where the
// next step's or panel's elements are laid later.
func (p *product[T]) packA(to []T, g *grid, o *operands[T]) {
	width := p.packedA()
	for t := o.top; t < o.bottom; t++ {
		i := g.row(t)
		h := g.row(t+1) - i
		panel := to[(t-o.top)*width*o.depth:]
		if p.transA {
			p.spread(panel, width, p.a.v[o.k*p.a.col+i:], p.a.col, ceil(h, p.vector), o.depth)
			continue
		}
		for v := (h - 1) / p.vector * p.vector; v >= 0; v -= p.vector {
			p.interleave(panel[v:], width, p.a.v[(i+v)*p.a.row+o.k:], p.a.row, min(p.vector, h-v), o.depth)
		}
	}
}

// packB does the same with columns of tiles of B.
func (p *product[T]) packB(to []T, g *grid, o *operands[T]) {
	panel := g.width * o.depth
	if p.transB {
		for q := o.left; q < o.right; q++ {
			j, end := g.col(q), g.col(q+1)
			for v := 0; j+v < end; v += p.vector {
				p.interleave(to[(q-o.left)*panel+v:], g.width, p.b.v[(j+v)*p.b.col+o.k:], p.b.col, min(p.vector, end-j-v), o.depth)
			}
		}
		return
	}
	j, end := g.col(o.left), g.col(o.right)
	if o.right-o.left == 1 {
		p.spread(to, g.width, p.b.v[o.k*p.b.row+j:], p.b.row, ceil(end-j, p.vector), o.depth)
		return
	}
	for k := range o.depth {
		row := p.b.v[(o.k+k)*p.b.row:][j:end]
		p.spread(to[k*g.width:], panel, row, g.width, 2, o.right-o.left)
	}
}
