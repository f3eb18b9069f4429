package agree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/device"
)

// Words is how many words of its own a rank may say at a meeting.
const Words = 6

// Call is an operation of several collective calls, which all ranks of a Comm make.
type Call struct {
	Comm   *collective.Comm
	Op     string // in the words of the caller: "Join"
	Args   string // what all ranks give alike, for errors
	Number uint64 // of the Comm's operations of this kind
	// Refused says that this rank could not read its arguments: they are held against nobody's.
	Refused bool
	// Kinds are kinds of error beside device's that keep their kind on the other ranks: the same on all of them.
	Kinds []error
	said  [3 + Words]int64
	all   []int64
}

// New is the Comm's next operation. Every rank makes one, also one whose arguments are
// wrong, and then calls Meet.
func New(comm *collective.Comm, op, args string) *Call {
	return &Call{Comm: comm, Op: op, Args: args, Number: comm.Number("agree")}
}

// detail is what a rank says of itself where the ranks do not agree.
type detail struct {
	Op, Args string
	Number   uint64
	Refused  bool
	Error    string
	Kind     int
	More     []byte
}

// Meet is a point of the operation where all ranks come together: it compares what call
// they are in, and tells all of an error that one has. own is this rank's error or nil,
// words up to Words numbers, of which the first same are to be alike on all ranks. It gives the
// words of all ranks, one row a rank. Where those that are to be alike are not, more is
// asked for, and what all ranks say comes as details, for all to judge alike; else details
// is nil. The error is an [*Error], the same on all ranks, after which the Comm goes on, or
// the Comm's own.
func (c *Call) Meet(ctx context.Context, own error, words []int64, same int, more func() []byte) (all [][]int64, details [][]byte, err error) {
	if f := c.Comm.Fault(); f != nil {
		return nil, nil, joined(own, f) // the Comm has ended, on all ranks
	}
	c.said = [3 + Words]int64{c.hash(), int64(c.Number), 0}
	if own != nil {
		c.said[2] = int64(c.kindOf(own)) + 1
	}
	copy(c.said[3:], words)
	size, width := c.Comm.Size(), len(c.said)
	if c.all == nil {
		c.all = make([]int64, size*width)
	}
	if err := c.Comm.AllGather(ctx, collective.Of(c.said[:]), collective.Of(c.all)); err != nil {
		return nil, nil, joined(own, err)
	}
	agreed, alike := true, true
	for r := range size {
		row := c.all[r*width : (r+1)*width]
		all = append(all, append([]int64(nil), row[3:3+len(words)]...))
		agreed = agreed && row[0] == c.said[0] && row[1] == c.said[1] && row[2] == 0
		for i := range same {
			alike = alike && row[3+i] == c.all[3+i]
		}
	}
	if agreed && alike {
		return all, nil, nil
	}
	said := detail{Op: c.Op, Args: c.Args, Number: c.Number, Refused: c.Refused}
	if own != nil {
		said.Error, said.Kind = own.Error(), c.kindOf(own)
		if said.Error == "" {
			said.Error = "an error without a text"
		}
	}
	if more != nil {
		said.More = more()
	}
	heard, err := c.tell(ctx, said)
	if err != nil {
		return nil, nil, joined(own, err)
	}
	if err := c.judge(heard, own); err != nil {
		return nil, nil, err
	}
	for _, d := range heard {
		details = append(details, d.More)
	}
	return all, details, nil
}

// Errors is a Meet of ranks that have nothing to say but their errors.
func (c *Call) Errors(ctx context.Context, own error) error {
	_, _, err := c.Meet(ctx, own, nil, 0, nil)
	return err
}

func (c *Call) hash() int64 {
	h := fnv.New64a()
	h.Write([]byte(c.Op))
	h.Write([]byte{0})
	h.Write([]byte(c.Args))
	return int64(h.Sum64())
}

// tell gives every rank what all say.
func (c *Call) tell(ctx context.Context, said detail) ([]detail, error) {
	text, err := json.Marshal(said)
	if err != nil {
		return nil, err
	}
	texts, err := Bytes(ctx, c.Comm, text)
	if err != nil {
		return nil, err
	}
	heard := make([]detail, len(texts))
	for r := range heard {
		if err := json.Unmarshal(texts[r], &heard[r]); err != nil {
			return nil, device.Errorf(device.ErrMismatch, "", c.Op, "what rank %d says cannot be read: %v", r, err)
		}
	}
	return heard, nil
}

// Bytes gives every rank the bytes of all, by rank. They may be of any length.
func Bytes(ctx context.Context, comm *collective.Comm, own []byte) ([][]byte, error) {
	counts := make([]int64, comm.Size())
	if err := comm.AllGather(ctx, collective.Of([]int64{int64(len(own))}), collective.Of(counts)); err != nil {
		return nil, err
	}
	var total int64
	for _, n := range counts {
		total += n
	}
	flat := make([]byte, total)
	if err := comm.AllGatherV(ctx, collective.Of(own), collective.Of(flat), counts); err != nil {
		return nil, err
	}
	all := make([][]byte, len(counts))
	for r, n := range counts {
		all[r], flat = flat[:n:n], flat[n:]
	}
	return all, nil
}

// judge makes the one error of what all ranks say, or nil.
func (c *Call) judge(heard []detail, own error) error {
	differ, known := false, -1 // known is the first rank that says its arguments
	for r, d := range heard {
		differ = differ || d.Op != heard[0].Op || d.Number != heard[0].Number
		switch {
		case d.Refused:
		case known < 0:
			known = r
		default:
			differ = differ || callText(d) != callText(heard[known])
		}
	}
	e := &Error{own: own}
	if differ {
		e.Kind = device.ErrMismatch
		for r, d := range heard {
			text := "it calls " + callText(d)
			if d.Error != "" {
				text += ", and has an error: " + d.Error
			}
			e.Ranks, e.Texts = append(e.Ranks, r), append(e.Texts, text)
		}
		return e
	}
	e.Op, e.Number = c.Op, c.Number
	for r, d := range heard {
		if d.Error == "" {
			continue
		}
		if e.Ranks == nil {
			e.Kind = c.kindNamed(d.Kind)
		}
		e.Ranks, e.Texts = append(e.Ranks, r), append(e.Texts, d.Error)
	}
	if e.Ranks == nil {
		return nil
	}
	return e
}

func callText(d detail) string {
	text := fmt.Sprintf("%s #%d", d.Op, d.Number)
	if d.Args != "" {
		text += " (" + d.Args + ")"
	}
	return text
}

// Refuse is the error of an operation that all ranks refuse for one reason, which all of
// them see.
func (c *Call) Refuse(kind error, ranks []int, texts []string) *Error {
	return &Error{Op: c.Op, Number: c.Number, Ranks: ranks, Texts: texts, Kind: kind}
}

// joined is the Comm's error, and what this rank had besides.
func joined(own, err error) error {
	if own == nil {
		return err
	}
	return errors.Join(err, own)
}
