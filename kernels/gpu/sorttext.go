package gpu

import (
	"math/bits"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// sortList is the rows to be sorted: n rows, or all of them in order where
// there is no list, as numbers of width bytes.
type sortList struct {
	rows  *memory.Buffer
	n     int64
	width int
}

// args are the list as the arguments given, rows of the kernels.
func (l sortList) args() []any { return []any{boolArg(l.rows != nil), pointer(l.rows)} }

// textStep is the state of the refinement of sorttext.cl: the rows that may
// still have equals, where they stand in the result, and their segments.
type textStep struct {
	list                   sortList
	place, segment, starts *memory.Buffer // none in the first step, which has one segment
	depth, common          *memory.Buffer
	segments               int64
}

func (t *textStep) refined() bool { return t.segment != nil }

func (c *call) dropStep(t *textStep) {
	for _, b := range []*memory.Buffer{t.place, t.segment, t.starts, t.depth, t.common} {
		c.drop(b)
	}
	if t.refined() {
		c.drop(t.list.rows)
	}
}

// sortTexts sorts rows by a column of texts, stably, and marks with a 1, in
// words of 32 bits, the places whose text differs from the one before.
//
// A step looks at seven more bytes of those texts only that have equals so
// far, after passing over what all equals have in common, so that every step
// tells some of them apart. It waits for the stream in each.
func (c *call) sortTexts(key kernels.SortKey, list sortList) (sorted, ends *memory.Buffer) {
	sorted, ends = c.temp(list.n*int64(list.width)), c.zeroed(4*list.n)
	step := &textStep{list: list, segments: 1}
	for step.list.n > 0 && c.ok() {
		step = c.sortTextStep(key, step, sorted, ends)
	}
	return sorted, ends
}

func (c *call) sortTextStep(key kernels.SortKey, t *textStep, sorted, ends *memory.Buffer) *textStep {
	n, width := t.list.n, t.list.width
	module, groups := rowsModule("sorttext", width), c.strided(n)
	text := c.textArgs(key.Values)
	if t.refined() {
		t.common = c.temp(8 * t.segments)
		c.fill(t.common, 0xff)
		c.launch(module, "text_common", groups, append(text, t.list.rows, t.segment, t.starts, t.depth, t.common, n)...)
	}
	words := c.temp(8 * n)
	c.launch(module, "text_words", groups, c.textWordArgs(key, t, words)...)
	words, byWord := c.sortPairs(words, 64, nil, width, n)
	var bySegment *memory.Buffer
	if t.segments > 1 {
		segments := c.temp(n * int64(width))
		c.launch(module, "text_segments", groups, t.segment, byWord, segments, n)
		keyBits := bits.Len64(uint64(t.segments - 1))
		if width == 8 {
			keyBits = max(keyBits, 33) // words as wide as the rows
		}
		bySegment = c.sortRows(segments, keyBits, nil, width, n)
	}
	order := []any{boolArg(t.refined()), pointer(t.segment), words, byWord, boolArg(bySegment != nil), pointer(bySegment)}
	cuts := c.temp(4 * n)
	args := append(append(append([]any{}, order...), t.list.args()...), pointer(t.place), cuts, sorted, ends, n)
	c.launch(module, "text_cut", groups, args...)

	more := uint32(9)
	if key.Descending {
		more = 0xff - more
	}
	active, heads := c.temp(4*n), c.temp(4*n)
	c.launch(module, "text_active", groups, append(append([]any{}, order...), cuts, more, active, heads, n)...)
	at, segments := c.prefix(active, 4, n), c.prefix(heads, 4, n)
	next := &textStep{list: sortList{n: c.readInt64(at, n), width: width}, segments: c.readInt64(segments, n)}
	if next.list.n > 0 && c.ok() {
		room := next.list.n * int64(width)
		next.list.rows, next.place, next.segment = c.temp(room), c.temp(room), c.temp(room)
		next.starts, next.depth = c.temp(next.segments*int64(width)), c.temp(8*next.segments)
		args := append(append([]any{}, order...), pointer(t.common))
		args = append(append(args, t.list.args()...), pointer(t.place), active, heads, at, segments)
		c.launch(module, "text_next", groups, append(args, next.list.rows, next.place, next.segment, next.starts, next.depth, n)...)
	}
	for _, b := range []*memory.Buffer{words, byWord, bySegment, cuts, active, heads, at, segments} {
		c.drop(b)
	}
	c.dropStep(t)
	return next
}

// textArgs are a column of texts as the arguments TEXT.
func (c *call) textArgs(col *memory.Column) []any {
	return []any{int32(kindOf(col.Type())), c.data(col), c.bytes(col)}
}

// textWordArgs are the arguments of text_words.
func (c *call) textWordArgs(key kernels.SortKey, t *textStep, words *memory.Buffer) []any {
	args := append(c.textArgs(key.Values), c.validity(key.Values), boolArg(key.Descending), boolArg(key.NullsFirst))
	args = append(args, t.list.args()...)
	return append(args, boolArg(t.refined()), pointer(t.segment), pointer(t.common), words, t.list.n)
}
