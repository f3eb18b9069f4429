package gang

import (
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/volley-go/volley/device"
)

// Ref names a value that its holders keep: one, or for a table on several ranks one for each part, in order. Whoever is in the gang can
// get it, as long as the holder lives and has not dropped it.
type Ref struct {
	Run        [16]byte
	Generation uint64
	Name       string
	Parts      []Part
}

// Part is what one holder has of a value.
type Part struct {
	Rank   int    // Origin is the gang's start
	Number uint64 // of the value there
	Rows   int64  // of a table; -1 for what is none
}

// String is a text that ParseRef reads.
func (r Ref) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "gang:%x.%d/%s#", r.Run, r.Generation, url.PathEscape(r.Name))
	for i, p := range r.Parts {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%d.%d.%d", p.Rank, p.Number, p.Rows)
	}
	return b.String()
}

// ParseRef reads what String gives.
func ParseRef(text string) (Ref, error) {
	wrong := func() (Ref, error) {
		return Ref{}, device.Errorf(device.ErrMismatch, "", "gang.ParseRef", "%q is not a reference", text)
	}
	rest, ok := strings.CutPrefix(text, "gang:")
	head, parts, cut := strings.Cut(rest, "#")
	at, name, named := strings.Cut(head, "/")
	run, generation, whole := strings.Cut(at, ".")
	if !ok || !cut || !named || !whole {
		return wrong()
	}
	var r Ref
	id, err := hex.DecodeString(run)
	if err != nil || len(id) != len(r.Run) {
		return wrong()
	}
	copy(r.Run[:], id)
	if r.Generation, err = strconv.ParseUint(generation, 10, 64); err != nil {
		return wrong()
	}
	if r.Name, err = url.PathUnescape(name); err != nil {
		return wrong()
	}
	for text := range strings.SplitSeq(parts, ",") {
		var p Part
		words := strings.Split(text, ".")
		if len(words) != 3 {
			return wrong()
		}
		if p.Rank, err = strconv.Atoi(words[0]); err == nil {
			if p.Number, err = strconv.ParseUint(words[1], 10, 64); err == nil {
				p.Rows, err = strconv.ParseInt(words[2], 10, 64)
			}
		}
		if err != nil {
			return wrong()
		}
		r.Parts = append(r.Parts, p)
	}
	return r, nil
}

// Union is one reference to the parts of several, in their order.
func Union(refs ...Ref) (Ref, error) {
	if len(refs) == 0 {
		return Ref{}, device.Errorf(device.ErrMismatch, "", "gang.Union", "no references")
	}
	all := Ref{Run: refs[0].Run, Generation: refs[0].Generation, Name: refs[0].Name}
	for _, r := range refs {
		if r.Run != all.Run || r.Generation != all.Generation {
			return Ref{}, device.Errorf(device.ErrMismatch, "", "gang.Union", "references of different gangs or generations: %v and %v", refs[0], r)
		}
		all.Parts = append(all.Parts, r.Parts...)
	}
	return all, nil
}

// rows is the length of a table; ok is false where a part is none.
func (r Ref) rows() (n int64, ok bool) {
	for _, p := range r.Parts {
		if p.Rows < 0 {
			return 0, false
		}
		n += p.Rows
	}
	return n, len(r.Parts) > 0
}

// part says in words which part a number is, and who holds it.
func (r Ref) part(number int) string {
	holder := "the start"
	if rank := r.Parts[number].Rank; rank != Origin {
		holder = fmt.Sprint("rank ", rank)
	}
	return fmt.Sprintf("part %d, of %s", number, holder)
}
