package dataloader

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
)

// Encoding says what becomes of a column whose values are no numbers, or not the
// ones that are wanted. Categories, OneHot, Padded, Ragged and Decode make them;
// Options.Encode gives them to columns.
type Encoding struct {
	made    encodingKind
	values  []string
	unknown bool
	length  int64
	pad     float64
	cut     bool
	typ     arrow.DataType
	decode  func(value, to []byte) error
}

type encodingKind int

const (
	encodePlain encodingKind = iota
	encodeCategory
	encodeOneHot
	encodeList
	encodeBytes
)

// Categories encodes a value as its place in a list: texts, bytes, dictionaries
// of them, whole numbers and bools, as they are written in decimal. A value that
// is not in the list is an ErrValue that names its row, or −1 after Unknown. The
// column is one of the matrix.
func Categories(values ...string) *Encoding {
	return &Encoding{made: encodeCategory, values: values}
}

// OneHot encodes a value as as many columns of the matrix as there are values in
// the list: 1 in that of the value, 0 in the others; values are those of
// Categories. One that is not in the list is an ErrValue that names its row, or
// all zeros after Unknown.
func OneHot(values ...string) *Encoding { return &Encoding{made: encodeOneHot, values: values} }

// Padded makes a tensor of its own (Batch.Column) of a column of lists of
// numbers: length elements a row, those behind the list's end being pad. They
// are 0 in Valid. A longer list is an ErrValue that names its row, or is cut
// after Cut.
func Padded(length int64, pad float64) *Encoding {
	return &Encoding{made: encodeList, length: length, pad: pad}
}

// Ragged makes a tensor of its own of a column of lists of numbers: the items of
// all rows, one after the other, and where those of each begin (Tensor.Offsets).
// length is the longest list there may be, by which the ring has room.
func Ragged(length int64) *Encoding { return &Encoding{made: encodeList, length: length, typ: ragged} }

// ragged marks lists that are not padded.
var ragged arrow.DataType = arrow.Null

// Decode makes a tensor of its own of a column of bytes or text, images say:
// length elements of a type for each row, which decode writes from the value. It
// is called by several workers at a time and keeps neither slice. Its error is
// that of the batch and names the row; with Options.SkipBad the row is left out.
func Decode(t arrow.DataType, length int64, decode func(value, to []byte) error) *Encoding {
	return &Encoding{made: encodeBytes, typ: t, length: length, decode: decode}
}

// Unknown lets values be encoded that are not in the list. It returns e.
func (e *Encoding) Unknown() *Encoding {
	e.unknown = true
	return e
}

// Cut lets lists be cut that are too long. It returns e.
func (e *Encoding) Cut() *Encoding {
	e.cut = true
	return e
}

func (e *Encoding) kind() encodingKind {
	if e == nil {
		return encodePlain
	}
	return e.made
}

// apart reports whether the column is a tensor of its own.
func (e *Encoding) apart() bool { return e.kind() == encodeList || e.kind() == encodeBytes }

// isRagged reports whether it is a list without padding.
func (e *Encoding) isRagged() bool { return e.kind() == encodeList && e.typ == ragged }

// elements is how many elements a value is.
func (e *Encoding) elements() int64 {
	switch e.kind() {
	case encodeOneHot:
		return int64(len(e.values))
	case encodeList, encodeBytes:
		return e.length
	default:
		return 1
	}
}

// text tells encodings apart; of a function it says nothing.
func (e *Encoding) text() string {
	if e == nil {
		return ""
	}
	return fmt.Sprint(e.made, len(e.values), e.values, e.unknown, e.length, e.pad, e.cut, e.typ)
}

// check looks at an encoding for a column.
func (e *Encoding) check(f arrow.Field) error {
	fail := func(format string, args ...any) error {
		return device.Errorf(device.ErrMismatch, "", "dataloader", "column %q: %s", f.Name, fmt.Sprintf(format, args...))
	}
	seen := map[string]bool{}
	for _, v := range e.values {
		if seen[v] {
			return fail("the value %q is listed twice", v)
		}
		seen[v] = true
	}
	switch {
	case (e.made == encodeCategory || e.made == encodeOneHot) && len(e.values) == 0:
		return fail("there are no values to encode")
	case e.apart() && e.length < 1:
		return fail("a length of %d", e.length)
	case e.made == encodeBytes && (e.decode == nil || e.typ == nil || widthOf(e.typ) == 0):
		return fail("there is no function, or no type of fixed width, to decode it")
	case e.made == encodePlain:
		return fail("an Encoding that nothing has made")
	}
	ok := false
	switch t := f.Type; e.made {
	case encodeList:
		list, is := t.(arrow.ListLikeType)
		ok = is && (t.ID() == arrow.LIST || t.ID() == arrow.LARGE_LIST) && numberOf(list.Elem()) != nil && list.Elem().ID() != arrow.BOOL
	case encodeBytes:
		ok = isBytes(t)
	default:
		ok = isBytes(t) || t.ID() == arrow.BOOL || arrow.IsInteger(t.ID())
	}
	if !ok {
		return device.Errorf(device.ErrUnsupported, "", "dataloader", "column %q is of type %v, which cannot be encoded so", f.Name, f.Type)
	}
	return nil
}

// isBytes reports whether values are runs of bytes, or a dictionary of them.
func isBytes(t arrow.DataType) bool {
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}
	switch t.ID() {
	case arrow.STRING, arrow.BINARY, arrow.LARGE_STRING, arrow.LARGE_BINARY, arrow.FIXED_SIZE_BINARY:
		return true
	}
	return false
}
