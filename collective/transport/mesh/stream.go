package mesh

import "sync"

// stream is a long payload on its way out, segment by segment. Whoever writes copies a segment before it waits for anybody, so that
// from drop on nothing of the payload is read.
type stream struct {
	mu      sync.Mutex
	frame   frame
	parts   [][]byte
	dropped bool
	end     func(whole bool) // called once, without mu
}

func newStream(f frame, parts [][]byte, end func(whole bool)) *stream {
	s := &stream{frame: f, parts: parts, end: end}
	for _, p := range parts {
		s.frame.total += int64(len(p))
	}
	return s
}

// next appends the frame of the next segment to b; more says that others follow.
func (s *stream) next(b []byte) (_ []byte, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dropped {
		return b, false
	}
	var few [][]byte
	n := 0
	for len(s.parts) > 0 && n < segment {
		p := s.parts[0]
		if k := segment - n; len(p) > k {
			few, s.parts[0] = append(few, p[:k]), p[k:]
			n += k
			break
		}
		few, s.parts = append(few, p), s.parts[1:]
		n += len(p)
	}
	payload := make([]byte, 0, n)
	if len(few) == 1 {
		payload = few[0]
	} else {
		for _, p := range few {
			payload = append(payload, p...)
		}
	}
	b = s.frame.append(b, payload)
	s.frame.off += int64(n)
	return b, s.frame.off < s.frame.total
}

// drop forgets the rest.
func (s *stream) drop() {
	s.mu.Lock()
	first := !s.dropped
	s.dropped = true
	s.parts = nil
	s.mu.Unlock()
	if first {
		s.ended(false)
	}
}

// whole says that all of it was copied out.
func (s *stream) whole() {
	s.mu.Lock()
	first := !s.dropped
	s.dropped = true
	s.mu.Unlock()
	if first {
		s.ended(true)
	}
}

func (s *stream) ended(whole bool) {
	if s.end != nil {
		s.end(whole)
	}
}
