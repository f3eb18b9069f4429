package simulate

import "math"

// Point is a time at a size.
type Point struct {
	Bytes   float64 `json:"bytes"`
	Seconds float64 `json:"seconds"`
}

// Curve is seconds a byte by the size of all that the ranks of a node read or write, since
// caches are faster than memory and the largest one is shared: points by rising Bytes, straight lines over the
// logarithm of the size between them, and constant beyond the ends. An empty Curve
// is 0 everywhere.
type Curve []Point

// Flat is a Curve that is the same everywhere.
func Flat(seconds float64) Curve { return Curve{{1, seconds}} }

// At is the value at a size.
func (c Curve) At(bytes float64) float64 {
	if len(c) == 0 {
		return 0
	}
	if bytes <= c[0].Bytes {
		return c[0].Seconds
	}
	for i := 1; i < len(c); i++ {
		if a, b := c[i-1], c[i]; bytes < b.Bytes {
			share := math.Log(bytes/a.Bytes) / math.Log(b.Bytes/a.Bytes)
			return a.Seconds + share*(b.Seconds-a.Seconds)
		}
	}
	return c[len(c)-1].Seconds
}

// Rate is a processor's time a byte: when it is the only one of its node that works
// on bytes, and when two do. An empty Two says that they do not hinder each other;
// else each further one takes as much more as the second.
type Rate struct {
	One Curve `json:"one,omitempty"`
	Two Curve `json:"two,omitempty"`
	// OneOf and TwoOf, if they are more than 0, say that the Curves are by the bytes of a message,
	// taken while so many vectors of its length were at work. Among more of them a byte takes
	// Share times as much longer as Network.Caches says.
	OneOf float64 `json:"one_of,omitempty"`
	TwoOf float64 `json:"two_of,omitempty"`
	Share float64 `json:"share,omitempty"`
	// Once says that each byte is copied once: what takes longer than the caches do goes past them, or is bound by
	// something else, until they take as long.
	Once bool `json:"once,omitempty"`
}

// rate is a Rate at one size.
type rate struct{ one, more float64 }

// at is a Rate where all vectors have so many bytes.
func (r *Rate) at(vectors float64) rate {
	one := r.One.At(vectors)
	if len(r.Two) == 0 {
		return rate{one, 0}
	}
	return rate{one, r.Two.At(vectors) - one}
}

// of is a Rate of a message of so many bytes where all vectors have so many.
func (r *Rate) of(bytes, vectors float64, caches *Rate) rate {
	if r.OneOf == 0 {
		return r.at(vectors)
	}
	one := r.among(r.One.At(bytes), caches.One.At(r.OneOf*bytes), caches.One.At(vectors))
	if len(r.Two) == 0 {
		return rate{one, 0}
	}
	two := r.among(r.Two.At(bytes), caches.Two.At(r.TwoOf*bytes), caches.Two.At(vectors))
	return rate{one, math.Max(0, two-one)}
}

// among is what was measured where caches took then, and take now.
func (r *Rate) among(measured, then, now float64) float64 {
	if r.Once {
		then = math.Max(then, measured)
	}
	return measured + r.Share*math.Max(0, now-then)
}

func (r rate) of(workers int) float64 { return r.one + float64(workers-1)*r.more }

// Costs are what a message costs besides the links that it takes. Seconds.
type Costs struct {
	Send float64 `json:"send"` // LogP's o of the sender
	Recv float64 `json:"recv"` // LogP's o of the receiver
	// Next, if it is more than 0, is what takes the place of Recv for messages inside a node that
	// came together: that were there, and not more than Batch bytes, when its receiver took one
	// before it.
	Next  float64 `json:"next,omitempty"`
	Batch int64   `json:"batch,omitempty"`
	// Long is what the receiver of a message longer than Eager takes besides: to reach
	// the bytes where they lie.
	Long    float64 `json:"long"`
	Latency float64 `json:"latency"` // from the sender's hand into the receiver's, links not counted
	// SendByte and RecvByte are the processors' time a byte: copies into and out of
	// what carries it.
	SendByte Rate `json:"send_byte"`
	RecvByte Rate `json:"recv_byte"`
	// ShortByte, if it has figures, is what takes the place of both for messages of up to
	// Eager bytes; ShortTake, if it has, is the receiver's then.
	ShortByte Rate `json:"short_byte"`
	ShortTake Rate `json:"short_take"`
	// FreshByte is what a byte of a message longer than Eager costs the receiver more that the
	// sender has written in the same call: it is in the caches of the sender's processor alone.
	FreshByte Rate `json:"fresh_byte"`
	// Flight is the time a byte of a message of up to Whole bytes inside a node, by its bytes, in
	// which no processor works.
	Flight Curve `json:"flight,omitempty"`
	// CombineByte, if it has figures, is what takes the place of Fold and of the receiver's other rates for a
	// message that is combined on arrival: it may come another way.
	CombineByte Rate `json:"combine_byte"`
	// Fold is what a byte costs the receiver more when it is combined on arrival, and Combine what
	// the message does besides.
	Fold    Rate    `json:"fold"`
	Combine float64 `json:"combine"`
	// Eager is the longest message whose sender does not wait: a longer one lies where
	// it is until the receiver has taken it, or the first link has carried it.
	Eager int64 `json:"eager"`
	// Whole is the longest message inside a node that its receiver sees only when the
	// sender has handed over all of it.
	Whole int64 `json:"whole,omitempty"`
	// Helped says that of a message inside a node longer than Eager both sides' processors move
	// bytes, each those that the other has not begun, which is what RecvByte says: a sender that has
	// nothing else to do begins before the receiver does, into memory that waits for it since its round began.
	Helped bool `json:"helped,omitempty"`
	// Laid is how many bytes of a message that is combined such a sender brings at the most.
	Laid float64 `json:"laid,omitempty"`
	// Stream is the least time a byte of a message inside a node longer than Whole, from
	// when its first byte leaves until the last is there, by its bytes. An empty one is none.
	Stream Curve `json:"stream,omitempty"`
	// Gap is LogP's g: seconds by the bytes of a message, from one message of a lane
	// inside a node to the next at the least. An empty one is none.
	Gap Curve `json:"gap,omitempty"`
	// Depth is how many messages of up to Eager bytes a lane inside a node holds, and Room
	// how many bytes, or Least messages if those have more: who sends more waits until the receiver has taken
	// some. 0 is without end.
	Depth int   `json:"depth,omitempty"`
	Room  int64 `json:"room,omitempty"`
	Least int   `json:"least,omitempty"`
}

// costs are Costs for one call.
type costs struct {
	*Costs
	inside      bool    // a node
	vectors     float64 // bytes of all of the node's
	caches      *Rate
	fold, fresh rate
}

func (c *Costs) at(vectors float64, caches *Rate) costs {
	return costs{Costs: c, vectors: vectors, caches: caches, fold: c.Fold.at(vectors), fresh: c.FreshByte.at(vectors)}
}

// work is a side's time a byte of a message: of the sender by SendByte, of the receiver by
// RecvByte.
func (c *costs) work(m *message, side *Rate) rate {
	switch short := int64(m.bytes) <= c.Eager; {
	case short && side == &c.RecvByte && len(c.ShortTake.One) > 0:
		side = &c.ShortTake
	case short && len(c.ShortByte.One) > 0:
		side = &c.ShortByte
	}
	return side.of(m.bytes, c.vectors, c.caches)
}

// hinders says that a byte takes longer while another processor works.
func (c *costs) hinders() bool {
	return len(c.SendByte.Two) > 0 || len(c.RecvByte.Two) > 0 || len(c.ShortByte.Two) > 0 || len(c.ShortTake.Two) > 0 || len(c.CombineByte.Two) > 0 || c.fold.more != 0 || c.fresh.more != 0
}
