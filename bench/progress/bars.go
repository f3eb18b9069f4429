package progress

import (
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// refresh is the shortest time between two pictures of a bar.
const refresh = 100 * time.Millisecond

// Bars returns a Progress that draws a bar to w, a terminal, and wipes it when
// the piece of work ends; a spinner when the total is not known.
func Bars(w io.Writer) Progress { return &bars{w: w} }

type bars struct {
	mu  sync.Mutex
	w   io.Writer
	bar *progressbar.ProgressBar // nil between two pieces of work
}

func (b *bars) Start(name string, total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end()
	if total <= 0 {
		total = -1
	}
	b.bar = progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(b.w),
		progressbar.OptionSetDescription(clean(name)),
		progressbar.OptionShowCount(),
		progressbar.OptionSetWidth(30),
		progressbar.OptionThrottle(refresh),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSpinnerType(14),
		progressbar.OptionSetRenderBlankState(true),
	)
}

func (b *bars) Add(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bar != nil {
		_ = b.bar.Add64(n) // the only errors are more than the total and a closed terminal
	}
}

func (b *bars) Done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end()
}

func (b *bars) end() {
	if b.bar != nil {
		_ = b.bar.Finish() // as in Add
	}
	b.bar = nil
}
