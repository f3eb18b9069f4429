package distributed

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/table"
)

// Scheme is how the rows of a Table are spread over the ranks.
type Scheme int

// The schemes.
const (
	Unknown    Scheme = iota // nothing is known
	Hashed                   // by the hash of keys: rows of equal keys are on one rank
	Ranged                   // by ranges of keys: rank r has no key that is after one of rank r+1
	Replicated               // every rank has all rows; the number of rows is that of one rank
)

var schemeNames = [...]string{"unknown", "hash", "range", "replicated"}

// String is the scheme's name.
func (s Scheme) String() string {
	if s < 0 || int(s) >= len(schemeNames) {
		return fmt.Sprintf("scheme %d", int(s))
	}
	return schemeNames[s]
}

// Partitioning is what is known of where the rows of a Table are. Operations keep it
// where they keep it true, and use it: rows that are where they are wanted do not move.
type Partitioning struct {
	Scheme Scheme
	Keys   []string         // columns, for Hashed and Ranged
	Types  []arrow.DataType // Hashed: the types in which they are hashed (kernels.Hash)
	// Buckets says which rank has each bucket; a row is in bucket floor(hash·len(Buckets)/2⁶⁴).
	Buckets []int32
	// NullsAnywhere: rows with a null key are on any rank, since it matches nothing.
	NullsAnywhere bool
	// Apart: rows of some keys, found to be frequent, may be on several ranks.
	Apart bool
	// Orders are the keys of Ranged in order; a range may end between two equal keys.
	Orders []table.Order
}

// String is the scheme and its keys.
func (p Partitioning) String() string {
	if len(p.Keys) == 0 {
		return p.Scheme.String()
	}
	return p.Scheme.String() + " of " + strings.Join(p.Keys, ", ")
}

// Together reports whether rows that are equal in these columns are certainly on one rank, rows with
// nulls in them too: where they are spread by the hash of some of the columns.
func (p Partitioning) Together(columns ...string) bool {
	if p.Scheme == Replicated {
		return true
	}
	if p.Scheme != Hashed || p.NullsAnywhere || p.Apart || len(p.Keys) == 0 {
		return false
	}
	for _, k := range p.Keys {
		if !slices.Contains(columns, k) {
			return false
		}
	}
	return true
}

// keeps is the partitioning of a table that has these columns still; Unknown where a key is gone.
func (p Partitioning) keeps(schema *arrow.Schema) Partitioning {
	for _, k := range p.Keys {
		if len(schema.FieldIndices(k)) == 0 {
			return Partitioning{}
		}
	}
	return p
}
