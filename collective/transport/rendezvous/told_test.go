package rendezvous

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/volley-go/volley/collective/transport/secret"
)

// A rank of another world at the same file is told so by rank 0, which names it when its own
// time is over.
func TestAnotherWorldAtTheFile(t *testing.T) {
	place := "file://" + filepath.Join(t.TempDir(), "meeting")
	ctx := within(t, limit/20)
	results := meetAll(t, ctx, []World{world(0, 2, place), world(1, 3, place)}, nil)
	if err := results[1].err; err == nil || !strings.Contains(err.Error(), "rank 0 refuses it: the file is of a world of 2 ranks") {
		t.Errorf("rank 1 of 3: %v", err)
	}
	if err := results[0].err; err == nil || !strings.Contains(err.Error(), "rank 1 did not come (refused rank 1 of a world of 3 ranks") {
		t.Errorf("rank 0 of 2: %v", err)
	}
}

// Who has no secret is told by the one who has it, and need not wait.
func TestNoSecretIsTold(t *testing.T) {
	place := freeAddress(t, "127.0.0.1")
	ctx := within(t, limit/20)
	results := meetAll(t, ctx, []World{world(0, 2, place), world(1, 2, place)}, func(i int) *secret.Guard {
		if i == 1 {
			return nil
		}
		return guard(t, "sixteen bytes, and more")
	})
	if err := results[1].err; err == nil || !strings.Contains(err.Error(), "has a secret and it has none: set VOLLEY_SECRET_FILE") {
		t.Errorf("rank 1: %v", err)
	}
}

// A rank whose connection drops in the handshake comes again, with a secret as without one.
func TestDroppedConnectionIsTriedAgain(t *testing.T) {
	for name, g := range map[string]*secret.Guard{"plain": nil, "secret": guard(t, "sixteen bytes and more")} {
		t.Run(name, func(t *testing.T) {
			place := freeAddress(t, "127.0.0.1")
			ln, err := net.Listen("tcp", strings.TrimPrefix(place, "tcp://"))
			if err != nil {
				t.Fatal(err)
			}
			drops := make(chan struct{}) // an earlier world's rank 0 that is just leaving
			go func() {
				defer close(drops)
				for i := range 3 {
					conn, err := ln.Accept()
					if err != nil {
						t.Error(err)
						return
					}
					_, _ = conn.Read(make([]byte, 20*i+1))
					_ = conn.Close()
				}
				_ = ln.Close()
			}()
			ctx := within(t, limit)
			came := make(chan error, 1)
			go func() {
				_, err := Meet(ctx, world(1, 2, place), g, []byte("1"))
				came <- err
			}()
			<-drops
			if _, err := Meet(ctx, world(0, 2, place), g, []byte("0")); err != nil {
				t.Errorf("rank 0: %v", err)
			}
			if err := <-came; err != nil {
				t.Errorf("rank 1: %v", err)
			}
		})
	}
}

// Who has a secret where rank 0 has none learns so at once.
func TestSecretOnOneSideIsTold(t *testing.T) {
	place := freeAddress(t, "127.0.0.1")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = Meet(ctx, world(0, 2, place), nil, nil) // it waits until the test ends
	}()
	within := within(t, limit)
	if _, err := Meet(within, world(1, 2, place), guard(t, "sixteen bytes and more"), nil); !errors.Is(err, secret.ErrRefused) || within.Err() != nil {
		t.Errorf("rank 1: %v", err)
	}
	cancel()
	<-done
}

// Strangers who say nothing keep no rank from the meeting.
func TestSilentStrangersAtTheMeeting(t *testing.T) {
	for name, g := range map[string]*secret.Guard{"plain": nil, "secret": guard(t, "sixteen bytes and more")} {
		t.Run(name, func(t *testing.T) {
			place := freeAddress(t, "127.0.0.1")
			ctx := within(t, limit)
			first := make(chan error, 1)
			go func() {
				_, err := Meet(ctx, world(0, 2, place), g, []byte("0"))
				first <- err
			}()
			for i := 0; i < 200; {
				conn, err := net.Dial("tcp", strings.TrimPrefix(place, "tcp://"))
				if err != nil {
					continue // rank 0 does not listen yet
				}
				t.Cleanup(func() { _ = conn.Close() })
				i++
			}
			if _, err := Meet(ctx, world(1, 2, place), g, []byte("1")); err != nil {
				t.Errorf("rank 1: %v", err)
			}
			if err := <-first; err != nil {
				t.Errorf("rank 0: %v", err)
			}
		})
	}
}
