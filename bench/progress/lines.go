package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// every is the least time between two lines about one piece of work, so that
// short pieces take two lines.
const every = time.Second

// Lines returns a Progress that prints a line to w when a piece of work
// begins, at further tenths of it but not more than once a second, and when it
// ends with the time it took.
// Of a piece whose total is not known only the beginning and the end are
// printed.
func Lines(w io.Writer) Progress { return &lines{w: w, now: time.Now} }

type lines struct {
	mu    sync.Mutex
	w     io.Writer
	now   func() time.Time
	open  bool
	name  string
	total int64
	done  int64
	tenth int64 // tenths printed
	start time.Time
	last  time.Time // when a line was printed
}

func (l *lines) Start(name string, total int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
	l.open, l.name, l.total, l.done, l.tenth, l.start = true, clean(name), total, 0, 0, l.now()
	l.last = l.start
	fmt.Fprintf(l.w, "%s\n", l.name)
}

func (l *lines) Add(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.open {
		return
	}
	l.done += n
	if l.total <= 0 || l.done >= l.total { // the end has its own line
		return
	}
	// In floating point, since ten times a count of bytes need not fit into an int64.
	t := min(int64(float64(l.done)/float64(l.total)*10), 9)
	if t <= l.tenth {
		return
	}
	if now := l.now(); now.Sub(l.last) >= every {
		l.tenth, l.last = t, now
		fmt.Fprintf(l.w, "%s: %d %%\n", l.name, t*10)
	}
}

func (l *lines) Done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
}

func (l *lines) end() {
	if l.open {
		fmt.Fprintf(l.w, "%s: done in %.3f s\n", l.name, l.now().Sub(l.start).Seconds())
	}
	l.open = false
}

// clean keeps a name on one line and its control characters off a terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}
