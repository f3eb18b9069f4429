package collective

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/timeline"
	"github.com/volley-go/volley/collective/transport/inproc"
)

// record runs f on ranks whose timelines are kept, and gives these.
func record(t *testing.T, n int, o Options, f func(c *Comm) error) []*bytes.Buffer {
	t.Helper()
	files := make([]*bytes.Buffer, n)
	var comms []*Comm
	var recorders []*timeline.Recorder
	for r, e := range inproc.New(n) {
		files[r] = &bytes.Buffer{}
		o.Timeline = timeline.NewRecorder(files[r])
		c, err := New(e, o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		comms, recorders = append(comms, c), append(recorders, o.Timeline)
	}
	must(t, comms, f)
	for _, r := range recorders {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	return files
}

// Every operation is a slice with its phases within, on every rank, and the results
// are those of a Comm without a timeline.
func TestTimeline(t *testing.T) {
	const n, ranks = 3000, 3
	work := func(c *Comm) error {
		v := fill[float32](c.Rank(), n)
		if err := c.AllReduce(context.Background(), Of(v), Of(v), Sum); err != nil || v[7] != float32(value(0, 7)+value(1, 7)+value(2, 7)) {
			return fmt.Errorf("AllReduce gives %v, %w", v[7], err)
		}
		s, err := c.Split(context.Background(), c.Rank()/2, 0)
		if err != nil {
			return err
		}
		defer s.Close()
		if err := s.Barrier(context.Background()); err != nil {
			return err
		}
		one := []int32{1}
		switch c.Rank() {
		case 0:
			return c.Send(context.Background(), Of(one), 2)
		case 2:
			return c.Recv(context.Background(), Of(one), 0)
		}
		return nil
	}
	o := Options{Checksum: true, Algorithms: map[algorithm.Op]string{algorithm.AllReduce: "ring"}}
	for r, file := range record(t, ranks, o, work) {
		events, err := timeline.Read(bytes.NewReader(file.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		var ops []string
		phases := map[string]int64{} // bytes of the AllReduce's
		var all timeline.Event
		for _, e := range events {
			switch {
			case e.Pid != r:
				t.Errorf("rank %d has an event of %d", r, e.Pid)
			case e.Cat == "operation":
				ops = append(ops, e.Name)
				if e.Name == "AllReduce" {
					all = e
				}
			}
		}
		if all.Args.Algorithm != "ring" || all.Args.Type != "float32" || all.Args.Reduce != "sum" || all.Args.Count != n || all.Args.Seq != 1 {
			t.Errorf("rank %d: the AllReduce is %+v", r, all)
		}
		for _, e := range events {
			if e.Cat == "phase" && e.Tid == all.Tid && e.Args.Seq == 1 && !e.Args.Pair {
				phases[e.Name] += e.Args.Bytes
				if e.Time < all.Time-0.01 || e.Time+e.Dur > all.Time+all.Dur+0.01 {
					t.Errorf("rank %d: phase %s at %v+%v of an operation at %v+%v", r, e.Name, e.Time, e.Dur, all.Time, all.Dur)
				}
			}
		}
		// A ring's rank sends and receives 2(p-1)/p of the vector, half of that reduced.
		if phases["send"] != 4*n*4/3 || phases["reduce"] < 4*n*2/3 || phases["copy"] < 4*n*2/3 || phases["wait"] == 0 {
			t.Errorf("rank %d: bytes by phase %v", r, phases)
		}
		want := []string{"AllReduce", "AllGather", "Barrier", "SendRecv"}
		if r == 1 {
			want = want[:3]
		}
		if !slices.Equal(ops, want) {
			t.Errorf("rank %d: operations %v, want %v", r, ops, want)
		}
	}
}

// A reduction that the endpoint does shows when its ranks waited and when they combined, one after the other and within the operation.
func TestTraceOfMergedReductions(t *testing.T) {
	const ranks, n = 2, 100_000
	work := func(c *Comm) error {
		if c.Rank() == 1 {
			time.Sleep(20 * time.Millisecond)
		}
		v := make([]float32, n)
		return c.AllReduce(context.Background(), Of(v), Of(v), Sum)
	}
	var comes, combines [ranks]float64
	for r, file := range record(t, ranks, Options{}, work) {
		events, err := timeline.Read(bytes.NewReader(file.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		var all, last timeline.Event
		for _, e := range events {
			switch {
			case e.Cat == "operation":
				all = e
			case e.Cat == "phase":
				if names = append(names, e.Name); e.Time < last.Time+last.Dur-0.01 {
					t.Errorf("rank %d: %s at %v begins before %s has ended at %v", r, e.Name, e.Time, last.Name, last.Time+last.Dur)
				}
				if e.Name == "reduce" {
					if combines[r] = e.Time; e.Args.Bytes != 4*n {
						t.Errorf("rank %d combines %d bytes", r, e.Args.Bytes)
					}
				}
				last = e
			}
		}
		if !slices.Equal(names, []string{"wait", "reduce", "wait"}) || all.Args.Algorithm != MergeName {
			t.Errorf("rank %d: phases %v of %+v", r, names, all)
		}
		if last.Time+last.Dur > all.Time+all.Dur+0.01 {
			t.Errorf("rank %d: the last phase ends after the operation", r)
		}
		comes[r] = all.Time
	}
	for r := range ranks { // they share a clock
		if other := (r + 1) % ranks; combines[r] < comes[other]-1 {
			t.Errorf("rank %d combines at %v µs, before rank %d comes at %v", r, combines[r], other, comes[other])
		}
	}
}

// Ranks on one machine share its clock: merged, no message comes before it was sent.
func TestMergedTimeline(t *testing.T) {
	files := record(t, 3, Options{}, func(c *Comm) error {
		for range 5 {
			if err := c.Barrier(context.Background()); err != nil {
				return err
			}
		}
		return nil
	})
	var out bytes.Buffer
	offsets, err := timeline.Merge(&out, files[2], files[0], files[1])
	if err != nil {
		t.Fatal(err)
	}
	for r, o := range offsets {
		if o.Rank != r || o.Added != 0 {
			t.Errorf("offset %+v", o)
		}
	}
	events, err := timeline.Read(&out)
	if err != nil {
		t.Fatal(err)
	}
	barriers, ended := 0, map[uint64]float64{}
	for _, e := range events {
		if e.Name == "Barrier" {
			barriers++
			if e.Time+e.Dur > ended[e.Args.Seq] {
				ended[e.Args.Seq] = e.Time + e.Dur
			}
		}
	}
	for _, e := range events { // nobody leaves a barrier before all have come
		if e.Name == "Barrier" && e.Args.Seq > 1 && e.Time+e.Dur < ended[e.Args.Seq-1]-1e6 {
			t.Errorf("barrier %d ends at %v, the one before at %v", e.Args.Seq, e.Time+e.Dur, ended[e.Args.Seq-1])
		}
	}
	if barriers != 15 {
		t.Errorf("%d barriers of 15", barriers)
	}
}

func TestTimelineOfTheEnvironment(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "trace")
	t.Setenv("VOLLEY_TIMELINE", prefix)
	for _, name := range []string{"", "-2"} { // a second world of the process has files of its own
		comms := world(t, 2, Options{})
		must(t, comms, func(c *Comm) error { return errors2(c.Barrier(context.Background()), c.Close()) })
		for r := range 2 {
			f, err := os.Open(fmt.Sprintf("%s.%d%s.json", prefix, r, name))
			if err != nil {
				t.Fatal(err)
			}
			events, err := timeline.Read(f)
			if err := errors2(err, f.Close()); err != nil || !slices.ContainsFunc(events, func(e timeline.Event) bool { return e.Name == "Barrier" }) {
				t.Errorf("%d events, %v", len(events), err)
			}
		}
	}
	t.Setenv("VOLLEY_TIMELINE", filepath.Join(prefix, "no", "folder"))
	if _, err := New(inproc.New(1)[0], Options{}); err == nil {
		t.Error("a timeline that cannot be written is passed over")
	}
}

func errors2(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func TestStats(t *testing.T) {
	before := Totals()["inproc"]
	comms := world(t, 2, Options{Deadline: limit, Algorithms: map[algorithm.Op]string{algorithm.AllReduce: "ring"}})
	must(t, comms, func(c *Comm) error {
		v := make([]float64, 100)
		for range 3 {
			if err := c.AllReduce(context.Background(), Of(v), Of(v), Sum); err != nil {
				return err
			}
		}
		return c.Exchange(context.Background(), []Transfer{{Peer: 1 - c.Rank(), Data: Of(v)}, {Peer: 1 - c.Rank(), Data: Of(make([]float64, 100)), Recv: true}})
	})
	s := comms[0].Stats()
	if len(s.Operations) != 2 || s.Operations[0].Op != "AllReduce" || s.Operations[0].Algorithm != "ring" || s.Operations[0].Calls != 3 || s.Operations[0].Time <= 0 ||
		s.Operations[1].Op != "SendRecv" || s.Operations[1].Calls != 1 {
		t.Errorf("operations %+v", s.Operations)
	}
	// A ring of two sends and receives half of the vector twice.
	if want := (Traffic{Messages: 7, Bytes: 3200}); s.Sent != want || s.Received != want {
		t.Errorf("sent %+v, received %+v", s.Sent, s.Received)
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	for r, err := range each(t, comms, func(c *Comm) error {
		if c.Rank() == 1 {
			<-ctx.Done()
		}
		return c.Barrier(ctx)
	}) {
		if err == nil {
			t.Errorf("rank %d passes a barrier after the end", r)
		}
	}
	if f := comms[0].Stats().Faults; f[Canceled] != 1 || len(f) != 1 {
		t.Errorf("faults %v", f)
	}
	for _, c := range comms {
		c.Close()
	}
	after := Totals()["inproc"]
	if d := after.Sent.Messages - before.Sent.Messages; d < 14 {
		t.Errorf("the process counts %d more messages", d)
	}
	if d := after.Faults[Canceled] - before.Faults[Canceled]; d != 2 {
		t.Errorf("the process counts %d more faults", d)
	}
}
