package tcp

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport"
)

// A rank that waits for one rank writes on to another: rank 2 sends to rank 0 only when
// rank 1 has all of a message that rank 0 has posted and not flushed. With a pause the
// rest has been left to a goroutine before rank 1 reads.
func TestWaitingWritesOn(t *testing.T) {
	for name, pause := range map[string]time.Duration{"at once": 0, "late": 30 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			ends := open(t, 3, Options{Connections: 3})
			long := fill(24<<20, 3)
			head := func(n int) *transport.Header { return &transport.Header{Seq: 1, Len: int64(n)} }
			got, word := make([]byte, len(long)), []byte{1, 2, 3, 4}
			others := make(chan error, 2)
			go func() {
				time.Sleep(pause)
				others <- errors.Join(ends[1].Recv(0, head(len(long)), &transport.Sink{Into: got}), ends[1].Post(2, head(4), word), ends[1].Flush(2))
			}()
			go func() {
				in := make([]byte, 4)
				others <- errors.Join(ends[2].Recv(1, head(4), &transport.Sink{Into: in}), ends[2].Post(0, head(4), in), ends[2].Flush(0))
			}()
			in := make([]byte, 4)
			err := returns(t, "Recv", func() error {
				return errors.Join(ends[0].Post(1, head(len(long)), long), ends[0].Recv(2, head(4), &transport.Sink{Into: in}), ends[0].Flush(1))
			})
			if err := errors.Join(err, <-others, <-others); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, long) || !bytes.Equal(in, word) {
				t.Error("something else arrived")
			}
		})
	}
}
