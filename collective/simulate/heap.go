package simulate

// event is something that happens at a time.
type event struct {
	at   float64
	seq  uint64 // the order of events at one time
	kind eventKind
	id   int32 // of the message, the link or the rank
}

type eventKind uint8

const (
	departs eventKind = iota // a message is at the links out of its node
	arrives                  // a message's head is at its receiver
	freed                    // a link can carry the next message
	acked                    // a message of the rank may be changed
	begins                   // the rank enters the call
	leaves                   // the rank gives its processor to others
	works                    // the rank, which has a processor, has come to its next message
	emptied                  // the first message of a lane was taken
)

// events is a heap with four children a node, the earliest event first.
type events struct {
	all []event
	seq uint64
}

func (h *events) before(a, b *event) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

func (h *events) push(at float64, kind eventKind, id int32) {
	h.seq++
	e := event{at, h.seq, kind, id}
	h.all = append(h.all, e)
	i := len(h.all) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !h.before(&e, &h.all[up]) {
			break
		}
		h.all[i] = h.all[up]
		i = up
	}
	h.all[i] = e
}

func (h *events) pop() event {
	first := h.all[0]
	last := h.all[len(h.all)-1]
	h.all = h.all[:len(h.all)-1]
	n := len(h.all)
	if n == 0 {
		return first
	}
	i := 0
	for {
		least, child := -1, 4*i+1
		for c := child; c < min(child+4, n); c++ {
			if least < 0 || h.before(&h.all[c], &h.all[least]) {
				least = c
			}
		}
		if least < 0 || !h.before(&h.all[least], &last) {
			break
		}
		h.all[i] = h.all[least]
		i = least
	}
	h.all[i] = last
	return first
}
