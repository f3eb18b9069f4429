package gang

import (
	"context"
	"fmt"
	"sync"

	"github.com/volley-go/volley/collective/transport/mesh"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
)

// What members ask of each other.
const (
	verbGet  = "get"
	verbDrop = "drop"
	verbRun  = "run"
)

// member is what the start and the workers have in common.
type member struct {
	node       *mesh.Node
	invitation *invitation
	backend    *kernels.Backend
	machine    string

	mu     sync.Mutex
	values map[uint64]*kept // nil when the member has left
	last   uint64
	files  uint64
}

// members are those of this process.
var members struct {
	sync.Mutex
	of map[*mesh.Node]*member
}

func (m *member) enlist() {
	members.Lock()
	defer members.Unlock()
	if members.of == nil {
		members.of = map[*mesh.Node]*member{}
	}
	members.of[m.node] = m
}

func (m *member) discharge() {
	members.Lock()
	delete(members.of, m.node)
	members.Unlock()
	m.dropAll()
}

// near is the member of a rank where that is in this process, or nil.
func (m *member) near(rank int) *member {
	n := m.node
	if rank != n.Rank() {
		if n = n.Near(rank); n == nil {
			return nil
		}
	}
	members.Lock()
	defer members.Unlock()
	return members.of[n]
}

// Rank is this member's number: from 0, or Origin for the start.
func (m *member) Rank() int { return m.node.Rank() }

// Size is the number of workers.
func (m *member) Size() int { return m.node.Size() }

// Generation is that of the gang: 1, and one more after every Restart.
func (m *member) Generation() uint64 { return m.invitation.generation }

// Name has the gang's run and generation: no other one ever has the same.
func (m *member) Name() string { return m.invitation.name() }

// Send sends a message with a tag to a worker, or to Origin. It does not wait for the receiver, and the message may be changed afterwards. Messages of
// one sender and tag come in their order. What is not received stays in memory: up to 64 KiB at the receiver, more at the sender.
func (m *member) Send(ctx context.Context, to int, tag uint64, message []byte) error {
	if err := m.there("Send", to); err != nil {
		return err
	}
	return m.named(ctx, "Send", m.node.Send(ctx, to, tag, message))
}

// Recv receives the next message of a member with a tag. Where that member goes and has sent none, the error is a Fault that names it.
func (m *member) Recv(ctx context.Context, from int, tag uint64) ([]byte, error) {
	if err := m.there("Recv", from); err != nil {
		return nil, err
	}
	b, err := m.node.Recv(ctx, from, tag)
	return b, m.named(ctx, "Recv", err)
}

func (m *member) there(call string, rank int) error {
	if rank < Origin || rank >= m.Size() {
		return device.Errorf(device.ErrMismatch, "", "gang."+call, "there is no rank %d among %d", rank, m.Size())
	}
	return nil
}

// answer is the plane's handler.
func (m *member) answer(ctx context.Context, verb string, body []byte) (mesh.Answer, error) {
	switch verb {
	case verbGet:
		a, err := m.hand(ctx, body)
		if err != nil {
			err = told(err)
		}
		return a, err
	case verbDrop:
		w, err := asked(body)
		if err != nil {
			return mesh.Answer{}, told(err)
		}
		m.drop(w.number)
		return mesh.Answer{}, nil
	}
	return mesh.Answer{}, told(fmt.Errorf("%w: %q is nothing that can be asked here", ErrNotFound, verb))
}
