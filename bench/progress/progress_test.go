package progress

import (
	"bytes"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestLines(t *testing.T) {
	var b bytes.Buffer
	l := Lines(&b).(*lines)
	clock := time.Unix(0, 0)
	l.now = func() time.Time { clock = clock.Add(600 * time.Millisecond); return clock }
	l.Add(1)
	l.Done()
	l.Start("read\n\x1b[2J", 100)
	for range 4 {
		l.Add(25)
	}
	l.Start("sort", 0)
	l.Add(7)
	l.Done()
	l.Done()
	// The quarters come 0.6 s apart: a line for the second, none for the last.
	want := "read  [2J\nread  [2J: 50 %\nread  [2J: done in 2.400 s\nsort\nsort: done in 0.600 s\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestLinesOfHugeTotal(t *testing.T) {
	var b bytes.Buffer
	l := Lines(&b).(*lines)
	clock := time.Unix(0, 0)
	l.now = func() time.Time { clock = clock.Add(time.Second); return clock }
	l.Start("huge", math.MaxInt64)
	l.Add(math.MaxInt64 / 2)
	l.Add(math.MaxInt64 / 4)
	if want := "huge\nhuge: 50 %\nhuge: 70 %\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestBars(t *testing.T) {
	for _, total := range []int64{1000, 0} {
		var b bytes.Buffer
		p := Bars(&b)
		p.Add(1)
		p.Done()
		p.Start("group by", total)
		p.Add(300)
		p.Add(5000) // more than the total must not stop the work
		p.Done()
		if !strings.Contains(b.String(), "group by") {
			t.Errorf("total %d: nothing drawn: %q", total, b.String())
		}
		// Finished bars are wiped: after the last return to the left there is nothing.
		if s := b.String(); strings.TrimSpace(s[strings.LastIndexByte(s, '\r')+1:]) != "" {
			t.Errorf("total %d: the bar stays on the terminal: %q", total, s)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	for name, p := range map[string]Progress{"lines": Lines(io.Discard), "bars": Bars(io.Discard), "nothing": Nothing()} {
		p.Start(name, 1000)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 100 {
					p.Add(1)
				}
			})
		}
		wg.Wait()
		p.Done()
		if l, ok := p.(*lines); ok && l.done != 800 {
			t.Errorf("%d units counted of 800", l.done)
		}
	}
}

func TestNewChoosesLinesForFiles(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/log")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, w := range []io.Writer{f, io.Discard} {
		if _, ok := New(w).(*lines); !ok {
			t.Errorf("%T: %T", w, New(w))
		}
	}
}
