package transporttest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport"
)

// leave: what a rank has posted and flushed before it leaves arrives whole, however late
// its receiver is; behind that, and wherever the rank would be waited for, comes ErrLeft.
func leave(t *testing.T, ends []End) {
	defer closeAll(t, ends)
	sizes := []int{0, 8, 3000, 40_000}
	posted := make(chan struct{})
	each(t, ends, func(e End) error {
		if e.Rank() == 0 {
			for seq, n := range sizes {
				if err := e.Post(1, header(n, seq+1), pattern(n, 0, 1, seq)); err != nil {
					return err
				}
			}
			close(posted)
			if err := e.Flush(1); err != nil {
				return err
			}
			return e.Close()
		}
		<-posted
		for seq, n := range sizes {
			if seq == len(sizes)-1 { // it has left by now, but where its Flush waits for the last
				time.Sleep(100 * time.Millisecond)
			}
			got := make([]byte, n)
			if err := e.Recv(0, header(n, seq+1), &transport.Sink{Into: got}); err != nil {
				return err
			}
			if !bytes.Equal(got, pattern(n, 0, 1, seq)) {
				return fmt.Errorf("message of %d bytes is wrong", n)
			}
		}
		if err := e.Recv(0, header(8, 9), &transport.Sink{Into: make([]byte, 8)}); !errors.Is(err, transport.ErrLeft) {
			return fmt.Errorf("a Recv behind the last message gives %v", err)
		}
		long := make([]byte, 1<<20)
		err := e.Post(0, header(len(long), 1), long)
		if err == nil {
			err = e.Flush(0)
		}
		if !errors.Is(err, transport.ErrLeft) {
			return fmt.Errorf("a message to who has left gives %v", err)
		}
		return nil
	})
}
