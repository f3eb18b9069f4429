package distributed

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/volley-go/volley/collective/agree"
	"github.com/volley-go/volley/device"
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
	schemas, rows := make([]*arrow.Schema, len(details)), make([]int64, len(details))
	for r, text := range details {
		s, err := decodeSchema(text)
		if err != nil {
			return nil, o.call.Refuse(device.ErrMismatch, []int{r}, []string{fmt.Sprintf("its columns are not told: %v", err)})
		}
		schemas[r], rows[r] = s, words[r][2]
	}
	s, texts := table.CommonSchema(schemas, rows)
	if texts != nil {
		ranks := make([]int, len(texts))
		for r := range ranks {
			ranks[r] = r
		}
		return nil, o.call.Refuse(device.ErrMismatch, ranks, texts)
	}
	return s, nil
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
