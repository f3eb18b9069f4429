package simulate

import "math"

// Point is a time at a size.
type Point struct {
	Bytes   float64 `json:"bytes"`
	Seconds float64 `json:"seconds"`
}

// Curve is seconds a byte by the size of all vectors that the ranks of a node work on, since
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
}

// rate is a Rate at one size.
type rate struct{ one, more float64 }

func (r *Rate) at(bytes float64) rate {
	one := r.One.At(bytes)
	if len(r.Two) == 0 {
		return rate{one, 0}
	}
	return rate{one, math.Max(0, r.Two.At(bytes)-one)}
}

func (r rate) of(workers int) float64 { return r.one + float64(workers-1)*r.more }

// Costs are what a message costs besides the links that it takes. Seconds.
type Costs struct {
	Send float64 `json:"send"` // LogP's o of the sender
	Recv float64 `json:"recv"` // LogP's o of the receiver
	// Long is what the receiver of a message longer than Eager takes besides: to reach
	// the bytes where they lie.
	Long    float64 `json:"long"`
	Latency float64 `json:"latency"` // from the sender's hand into the receiver's, links not counted
	// SendByte and RecvByte are the processors' time a byte: copies into and out of
	// what carries it.
	SendByte Rate `json:"send_byte"`
	RecvByte Rate `json:"recv_byte"`
	// ShortByte, if it has figures, is what takes the place of both for messages of up to
	// Eager bytes.
	ShortByte Rate `json:"short_byte"`
	// FreshByte is what a byte of a message longer than Eager costs the receiver more that the
	// sender has written in the same call: it is in the caches of the sender's processor alone.
	FreshByte Rate `json:"fresh_byte"`
	// Flight is the time a byte of a message of up to Whole bytes inside a node in which no
	// processor works.
	Flight Curve `json:"flight,omitempty"`
	// Fold is what a byte costs the receiver more when it is combined on arrival.
	Fold Rate `json:"fold"`
	// Eager is the longest message whose sender does not wait: a longer one lies where
	// it is until the receiver has taken it, or the first link has carried it.
	Eager int64 `json:"eager"`
	// Whole is the longest message inside a node that its receiver sees only when the
	// sender has handed over all of it.
	Whole int64 `json:"whole,omitempty"`
	// Stream is the least time a byte of a message inside a node longer than Whole, from
	// when its first byte leaves until the last is there. An empty one is none.
	Stream Curve `json:"stream,omitempty"`
	// Gap is LogP's g: seconds by the bytes of a message, from one message of a lane
	// inside a node to the next at the least. An empty one is none.
	Gap Curve `json:"gap,omitempty"`
	// Depth is how many messages of up to Eager bytes a lane inside a node holds, and Room
	// how many bytes: who sends more waits until the receiver has taken some. 0 is without end.
	Depth int   `json:"depth,omitempty"`
	Room  int64 `json:"room,omitempty"`
}

// costs are Costs for one call.
type costs struct {
	send, recv, long, latency float64
	sendByte, recvByte, fold  rate
	fresh                     rate
	shortSend, shortRecv      rate
	eager, whole              int64
	stream, flight            float64
	gap                       Curve
	depth                     int
	room                      int64
}

func (c *Costs) at(bytes float64) costs {
	x := costs{
		send: c.Send, recv: c.Recv, long: c.Long, latency: c.Latency,
		sendByte: c.SendByte.at(bytes), recvByte: c.RecvByte.at(bytes), fold: c.Fold.at(bytes), fresh: c.FreshByte.at(bytes),
		eager: c.Eager, whole: c.Whole, stream: c.Stream.At(bytes), flight: c.Flight.At(bytes), gap: c.Gap, depth: c.Depth, room: c.Room,
	}
	x.shortSend, x.shortRecv = x.sendByte, x.recvByte
	if len(c.ShortByte.One) > 0 {
		x.shortSend = c.ShortByte.at(bytes)
		x.shortRecv = x.shortSend
	}
	return x
}

// sending and receiving are a side's time a byte of a message.
func (c *costs) sending(m *message) rate {
	if int64(m.bytes) <= c.eager {
		return c.shortSend
	}
	return c.sendByte
}

func (c *costs) receiving(m *message) rate {
	if int64(m.bytes) <= c.eager {
		return c.shortRecv
	}
	return c.recvByte
}
