package distributed

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/expr"
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
	// Bounds are the ends of the ranges, nil where one of them is between rows whose keys are all equal.
	Bounds *Bounds
}

// Bounds are the ends of the ranges of one Shuffle or Sort. Tables that were made of its rows where these are share them.
type Bounds struct {
	// Whole is how many of the first keys rows must have in common to be on one rank for certain, in whichever of the
	// tables they are.
	Whole int
}

// String is the scheme and its keys.
func (p Partitioning) String() string {
	if len(p.Keys) == 0 {
		return p.Scheme.String()
	}
	return p.Scheme.String() + " of " + strings.Join(p.Keys, ", ")
}

// Together reports whether rows that are equal in these columns are certainly on one rank, rows with
// nulls in them too: where they are spread by the hash of some of the columns, or by ranges of them of which
// none ends between equal rows.
func (p Partitioning) Together(columns ...string) bool {
	if p.Scheme == Replicated {
		return true
	}
	keys := p.Keys
	if p.Scheme == Ranged {
		keys = p.whole()
	}
	if p.Scheme != Hashed && p.Scheme != Ranged || p.NullsAnywhere || p.Apart || len(keys) == 0 {
		return false
	}
	for _, k := range keys {
		if !slices.Contains(columns, k) {
			return false
		}
	}
	return true
}

// whole are the first keys of Ranged, whose equal rows are on one rank; nil where that is not known, or where one is not a column as it is:
// equal values, as 0 and -0, may make others that are not.
func (p Partitioning) whole() (columns []string) {
	if p.Bounds == nil {
		return nil
	}
	for _, o := range p.Orders[:p.Bounds.Whole] {
		e, _, _, err := o.Key()
		if err != nil || e.Kind() != expr.KindColumn {
			return nil
		}
		columns = append(columns, e.Name())
	}
	return columns
}

// first is what is known of rows that have only those keys of Ranged whose equal rows are on one rank. It is for columns of
// which Together is true.
func (p Partitioning) first() Partitioning {
	if p.Scheme == Ranged {
		p.Keys, p.Orders = p.whole(), p.Orders[:p.Bounds.Whole]
	}
	return p
}

// beside reports whether rows of a table that is spread so, and of one that is spread as other, are certainly on one rank where
// they are equal in these columns, which both have.
func (p Partitioning) beside(other Partitioning, columns []string) bool {
	return p.Scheme == Ranged && other.Scheme == Ranged && p.Bounds == other.Bounds && p.Together(columns...) && other.Together(columns...)
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
