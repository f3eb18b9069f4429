package shm

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/volley-go/volley/collective/transport"
)

// ErrApart is the error of ranks that do not reach the same memory. All ranks of a group get it, or none.
var ErrApart = errors.New("the ranks have no memory that all of them can reach")

// ErrUnable is the error of ranks of which one has said that it cannot join. All ranks of a group get it, or none.
var ErrUnable = errors.New("shared memory cannot be had")

// Offer is what a rank brings to the meeting of a group that is to share memory: rank 0 the segment, which it has made by
// then, all their process and what keeps them from joining. So a rank that cannot join is known to all others before any of
// them waits for it, and one that dies then is missed.
type Offer struct {
	rank, size int
	card       card
	segment    *segment // rank 0's
}

// card is what a rank tells.
type card struct {
	Reach   string // as Reach says it
	Process Process
	Name    string `json:",omitempty"` // rank 0: of the group
	Trouble string `json:",omitempty"` // it cannot join
}

// cardMark begins a card, so that it is no card of another transport.
var cardMark = []byte("shm ")

// NewOffer is the offer of a rank of size. It is consumed by Join, or ended by Withdraw.
func NewOffer(rank, size int) *Offer {
	o := &Offer{rank: rank, size: size, card: card{Reach: Reach(), Process: self()}}
	if o.card.Reach == "" {
		return o
	}
	var err error
	if rank == 0 {
		o.card.Name = "world-" + rand.Text()
		o.segment, err = create(path(o.card.Name), o.card.Name, size)
	} else {
		err = mappable(size)
	}
	if err != nil {
		o.card.Trouble = err.Error()
	}
	return o
}

// mappable says whether this process has addresses for a segment.
func mappable(size int) error {
	b, err := unix.Mmap(-1, 0, segmentLen(size), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return fmt.Errorf("shm: no addresses for a segment of %s: %w", bytesText(int64(segmentLen(size))), err)
	}
	return unix.Munmap(b)
}

// Card is what the others need to know.
func (o *Offer) Card() []byte {
	text, err := json.Marshal(&o.card)
	if err != nil {
		return cardMark // cannot be: a card has plain fields; the others say that it cannot be read
	}
	return append(bytes.Clone(cardMark), text...)
}

// Join is Join of all whose cards these are, by rank. It fails with ErrApart where they do not reach the same memory, and with
// ErrUnable, which names the rank, where one of them has said that it cannot join.
func (o *Offer) Join(ctx context.Context, cards [][]byte) (transport.Endpoint, error) {
	ends, err := o.join(ctx, cards)
	if err != nil {
		o.Withdraw()
	}
	return ends, err
}

func (o *Offer) join(ctx context.Context, cards [][]byte) (transport.Endpoint, error) {
	if len(cards) != o.size {
		return nil, fmt.Errorf("shm: %d cards of %d ranks", len(cards), o.size)
	}
	all := make([]card, o.size)
	with := &company{processes: make([]Process, o.size)}
	for r, text := range cards {
		text, ours := bytes.CutPrefix(text, cardMark)
		if !ours || json.Unmarshal(text, &all[r]) != nil {
			return nil, fmt.Errorf("shm: rank %d says %q, which is no card of a rank that shares memory", r, cards[r])
		}
		with.processes[r] = all[r].Process
	}
	for r := range all {
		if all[r].Reach == "" || all[r].Reach != all[0].Reach {
			return nil, fmt.Errorf("shm: %w", ErrApart)
		}
	}
	for r := range all {
		if all[r].Trouble != "" {
			return nil, fmt.Errorf("%w: rank %d cannot join: %s", ErrUnable, r, all[r].Trouble)
		}
	}
	name := all[0].Name
	if o.rank == 0 {
		s := o.segment
		o.segment = nil
		return s.join(ctx, name, 0, with)
	}
	s, err := attach(path(name), name, o.size)
	if err != nil {
		if gone := with.lost(); gone != nil {
			err = errors.Join(gone, err)
		}
		_ = os.Remove(path(name)) // the name is this group's alone: so the others do not wait for this rank
		return nil, fmt.Errorf("shm: rank %d: %w", o.rank, err)
	}
	return s.join(ctx, name, o.rank, with)
}

// Withdraw gives back what an offer has that nobody joins.
func (o *Offer) Withdraw() {
	if s := o.segment; s != nil {
		o.segment = nil
		s.withdraw(path(o.card.Name))
		s.release()
	}
}
