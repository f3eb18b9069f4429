package storage

import (
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table/storage/internal/csv"
)

// CSVOptions say how a CSV file is to be read. The zero value reads RFC 4180:
// commas, double quotes, a header, types guessed from the first rows.
type CSVOptions struct {
	// Delimiter stands between fields; 0 means a comma. It is one byte of ASCII
	// and neither a quote nor an end of line.
	Delimiter byte
	// NoHeader says that the first record is data. The columns are then named by
	// Names, or f0, f1, …
	NoHeader bool
	// Names name the columns. With a header they replace its names, and must be
	// as many.
	Names []string
	// Types are the types of columns by name; the others are guessed. bool,
	// integers, floats, strings, dates, times, timestamps, durations (whole
	// numbers of their unit) and decimals may be given.
	Types map[string]arrow.DataType
	// Nulls are the texts that mean null where they stand without quotes, in
	// columns of every type; nil means the empty text alone. In columns of texts a
	// quoted text is never null; in others it means what it does without quotes,
	// so that a file in which all fields are quoted can have nulls.
	Nulls []string
	// SampleRows is how many rows the types are guessed from; 0 means 10,000, or
	// those of the first 16 MiB where they are fewer. A later value that does not fit
	// is an error, never another type.
	SampleRows int
	// MaxRecord is the most bytes that a record may take, so that a quote that
	// nobody closes cannot swallow memory; 0 means 16 MiB.
	MaxRecord int
	// NoHive leaves out the columns of folders, and HiveFrom is the folder below
	// which they are read; see HiveFolder.
	NoHive   bool
	HiveFrom HiveFolder
	// Lenient leaves out records that are wrong in any way and goes on. They are
	// counted in Report.
	Lenient bool
	// Report, if not nil, takes what Lenient leaves out, over all scans.
	Report *CSVReport
}

// CSVReport counts the records that were left out. Its methods may be called
// from any goroutine, also while reading goes on.
type CSVReport struct {
	mu      sync.Mutex
	skipped int64
	errors  []*Error
}

// reportErrors is how many errors a report keeps.
const reportErrors = 20

// Skipped is how many records were left out so far.
func (r *CSVReport) Skipped() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.skipped
}

// Errors say why, of up to 20 records: those met first, which with several
// workers need not be the first of the file.
func (r *CSVReport) Errors() []*Error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*Error(nil), r.errors...)
}

func (r *CSVReport) add(err *Error) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.skipped++
	if len(r.errors) < reportErrors {
		r.errors = append(r.errors, err)
	}
}

func (o *CSVOptions) delimiter() byte {
	if o.Delimiter == 0 {
		return ','
	}
	return o.Delimiter
}

func (o *CSVOptions) nulls() []string {
	if o.Nulls == nil {
		return []string{""}
	}
	return o.Nulls
}

// longestNull is the length of the longest of nulls.
func (o *CSVOptions) longestNull() (n int) {
	for _, s := range o.nulls() {
		n = max(n, len(s))
	}
	return n
}

func (o *CSVOptions) maxRecord() int {
	if o.MaxRecord <= 0 {
		return 16 << 20
	}
	return o.MaxRecord
}

func (o *CSVOptions) sampleRows() int {
	if o.SampleRows <= 0 {
		return 10_000
	}
	return o.SampleRows
}

// check finds options that contradict each other.
func (o *CSVOptions) check() error {
	if d := o.delimiter(); d == '"' || d == '\n' || d == '\r' || d >= utf8.RuneSelf {
		return fmt.Errorf("%w: %q as a delimiter", device.ErrMismatch, d)
	}
	for name, t := range o.Types {
		if t == nil {
			return fmt.Errorf("%w: no type given for column %q", device.ErrMismatch, name)
		}
		if _, err := csv.ParserOf(t); err != nil {
			return fmt.Errorf("column %q: %w", name, err)
		}
	}
	return nil
}
