package distributed

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/volley-go/volley/collective/agree"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/table"
)

// schemaHash is 16 bytes of the names and types of columns.
func schemaHash(s *arrow.Schema) (int64, int64) {
	h := sha256.New()
	for _, f := range s.Fields() {
		fmt.Fprintf(h, "%d %s %s %s\n", len(f.Name), f.Name, f.Type, f.Type.Fingerprint())
	}
	digest := h.Sum(nil)
	return int64(binary.LittleEndian.Uint64(digest)), int64(binary.LittleEndian.Uint64(digest[8:]))
}

// encodeSchema is a schema as an Arrow stream without batches.
func encodeSchema(s *arrow.Schema) ([]byte, error) {
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(s))
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("the schema cannot be sent: %w", err)
	}
	return b.Bytes(), nil
}

func decodeSchema(text []byte) (*arrow.Schema, error) {
	r, err := ipc.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	defer r.Release()
	return r.Schema(), nil
}

// unite makes one schema of those of all ranks, or the error that all ranks make alike.
// words are what they said, rows behind the hash.
func (o *op) unite(details [][]byte, words [][]int64) (*arrow.Schema, error) {
	u := &union{}
	for r, text := range details {
		s, err := decodeSchema(text)
		if err != nil {
			return nil, o.call.Refuse(device.ErrMismatch, []int{r}, []string{fmt.Sprintf("its columns are not told: %v", err)})
		}
		u.add(s, words[r][2])
	}
	s, texts := u.schema()
	if texts != nil {
		ranks := make([]int, len(texts))
		for r := range ranks {
			ranks[r] = r
		}
		return nil, o.call.Refuse(device.ErrMismatch, ranks, texts)
	}
	return s, nil
}

// union is schemas to be one: those of the ranks, or of the parts that a rank has for them.
type union struct {
	schemas []*arrow.Schema
	rows    []int64
}

func (u *union) add(s *arrow.Schema, rows int64) {
	u.schemas, u.rows = append(u.schemas, s), append(u.rows, rows)
}

// takes reports whether a member has a say: one without rows and columns has none.
func (u *union) takes(i int) bool { return u.rows[i] > 0 || u.schemas[i].NumFields() > 0 }

// schema is the one of all, or what is to be said of each of them where there is none.
func (u *union) schema() (_ *arrow.Schema, texts []string) {
	first := slices.IndexFunc(u.schemas, func(s *arrow.Schema) bool { return s.NumFields() > 0 })
	if first < 0 {
		return u.schemas[0], nil
	}
	names := func(i int) string {
		var all []string
		for _, f := range u.schemas[i].Fields() {
			all = append(all, fmt.Sprintf("%q", f.Name))
		}
		return "its columns are " + strings.Join(all, ", ")
	}
	for i := range u.schemas {
		if !u.takes(i) || names(i) == names(first) {
			continue
		}
		for k := range u.schemas {
			texts = append(texts, names(k))
		}
		return nil, texts
	}
	fields := u.schemas[first].Fields()
	for c := range fields {
		t, ok := u.columnType(c)
		if !ok {
			for i, s := range u.schemas {
				text := fmt.Sprintf("column %q has no type", fields[c].Name)
				if u.takes(i) {
					text = fmt.Sprintf("column %q is of type %s", fields[c].Name, expr.TypeName(s.Field(c).Type))
				}
				if u.rows[i] == 0 {
					text += ", without rows"
				}
				texts = append(texts, text)
			}
			return nil, texts
		}
		fields[c].Type, fields[c].Nullable = t, true
	}
	meta := u.schemas[first].Metadata()
	return arrow.NewSchema(fields, &meta), nil
}

// columnType is the type of a column: what those with rows have that is not null; else
// what the first without rows has; else null.
func (u *union) columnType(c int) (t arrow.DataType, ok bool) {
	for i, s := range u.schemas {
		if u.rows[i] == 0 || !u.takes(i) {
			continue
		}
		switch own := s.Field(c).Type; {
		case own.ID() == arrow.NULL || t != nil && arrow.TypeEqual(t, own):
		case t == nil:
			t = own
		default:
			wide, may := table.WideIndices(t, own)
			if !may {
				return nil, false
			}
			t = wide
		}
	}
	for i, s := range u.schemas {
		if t == nil && u.takes(i) && s.Field(c).Type.ID() != arrow.NULL {
			t = s.Field(c).Type
		}
	}
	if t == nil {
		t = arrow.Null
	}
	return t, true
}

// say joins what the members of a union have to say, for an error of one rank.
func say(what string, texts []string) error {
	var parts []string
	by := map[string][]int{}
	for i, t := range texts {
		if by[t] == nil {
			parts = append(parts, t)
		}
		by[t] = append(by[t], i)
	}
	for i, t := range parts {
		parts[i] = fmt.Sprintf("%s for %s: %s", what, agree.Ranks(by[t]), t)
	}
	return fmt.Errorf("%w: %s", device.ErrMismatch, strings.Join(parts, "; "))
}
