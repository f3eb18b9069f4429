package simulate

// depart is a message at the links out of its node: the first link serves them one
// by one, in the order in which they came.
func (e *engine) depart(at float64, i int32) {
	m := &e.messages[i]
	from := int(m.from) / e.net.PerNode
	rail := int(m.from) % e.net.PerNode % e.net.rails
	if e.striped(m) {
		rail = 0
	}
	q := int32(from*e.net.rails + rail)
	line := &e.queues[q]
	if len(line.waiting) > line.first || e.until[e.out(m, rail)] > at {
		if len(line.waiting) == line.first {
			e.events.push(max(at, e.until[e.out(m, rail)]), freed, q)
		}
		line.waiting = append(line.waiting, i)
		return
	}
	e.transmit(at, i)
}

// serve sends the first message that waits for a link.
func (e *engine) serve(at float64, q int32) {
	line := &e.queues[q]
	i := line.waiting[line.first]
	rail := int(q) % e.net.rails
	if free := e.until[e.out(&e.messages[i], rail)]; free > at { // a striped message took it meanwhile
		e.events.push(free, freed, q)
		return
	}
	line.first++
	if line.first == len(line.waiting) {
		line.waiting, line.first = line.waiting[:0], 0
	}
	e.transmit(at, i)
	if len(line.waiting) > line.first {
		e.events.push(max(at, e.until[e.out(&e.messages[line.waiting[line.first]], rail)]), freed, q)
	}
}

// striped says that a message takes all rails.
func (e *engine) striped(m *message) bool { return e.net.rails > 1 && m.bytes >= float64(e.net.stripe) }

// out is the link that a message leaves its node by.
func (e *engine) out(m *message, rail int) int32 {
	e.path = e.net.route(e.path[:0], int(m.from)/e.net.PerNode, int(m.to)/e.net.PerNode, rail)
	return e.path[0]
}

// transmit takes a message along its way: it holds each link from when its head is
// there, and the link is free, until its last byte has passed.
func (e *engine) transmit(at float64, i int32) {
	m := &e.messages[i]
	rails, bytes := 1, m.bytes
	first := int(m.from) % e.net.PerNode % e.net.rails
	if e.striped(m) {
		rails, bytes, first = e.net.rails, m.bytes/float64(e.net.rails), 0
	}
	var head, tail, gone float64
	for rail := first; rail < first+rails; rail++ {
		h, t, g := e.pass(at, m, rail, bytes)
		head, tail, gone = max(head, h), max(tail, t), max(gone, g)
	}
	if e.order != nil {
		// A lane keeps its order although its messages take different rails.
		lane := uint64(m.from)<<32 | uint64(m.to)
		head = max(head, e.order[lane])
		tail = max(tail, head)
		e.order[lane] = head
	}
	if m.waits {
		e.events.push(max(gone, m.tail), acked, m.from)
	}
	m.tail = max(tail, m.tail+(head-at)) + e.across.Latency
	e.events.push(head+e.across.Latency, arrives, i)
}

// pass reserves the links of one way: when the head and the tail are at the other
// end, and when the first link has carried all.
func (e *engine) pass(at float64, m *message, rail int, bytes float64) (head, tail, gone float64) {
	e.path = e.net.route(e.path[:0], int(m.from)/e.net.PerNode, int(m.to)/e.net.PerNode, rail)
	head = at
	for n, l := range e.path {
		x := &e.net.links[l]
		head = max(head, e.until[l])
		takes := bytes * x.byte
		e.until[l] = head + takes
		e.busy[l] += takes
		if n == 0 {
			gone = head + takes
		}
		tail = max(tail, head+takes) + x.latency
		head += x.latency
	}
	return head, tail, gone
}
