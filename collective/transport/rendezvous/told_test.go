package rendezvous

import (
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
