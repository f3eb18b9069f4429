package collective

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/device"
)

func tuned() *Tuning {
	return &Tuning{Source: "a test", Transports: map[string]TransportTuning{"inproc": {
		Model: algorithm.Model{Alpha: 1, Beta: 1e-12, Gamma: 1e-12}, // a second a message: few messages win
		Choices: []Choice{
			{"AllReduce", 4, 1 << 12, "ring"}, {"AllReduce", 4, 1 << 10, "doubletree"}, {"AllReduce", 2, 0, "butterfly"},
		},
	}}}
}

// The table decides where it has an entry and nothing is merged, the model elsewhere, a name in the options
// above all; Explain says which it was.
func TestTuning(t *testing.T) {
	for _, c := range []struct {
		options Options
		op      algorithm.Op
		n       int64 // float32
		want    string
		why     string
	}{
		{Options{Tuning: tuned()}, algorithm.AllReduce, 1 << 10, "ring", byTable},
		{Options{Tuning: tuned()}, algorithm.AllReduce, 1<<10 - 1, "doubletree", byTable},
		{Options{Tuning: tuned()}, algorithm.AllReduce, 2, "doubletree", byTable},
		{Options{Tuning: tuned(), Algorithms: map[algorithm.Op]string{algorithm.AllReduce: "direct"}}, algorithm.AllReduce, 2, "direct", byName},
		{Options{Tuning: tuned()}, algorithm.AllGather, 1 << 18, "doubling", byTuned},
		{Options{}, algorithm.Broadcast, 1 << 18, "", byModel},
	} {
		comm := world(t, 4, c.options)[0]
		text := comm.Explain(c.op, Float32, c.n)
		if !strings.Contains(text, c.want+", because "+c.why+"\n") || !strings.Contains(text, "\n* "+c.want) {
			t.Errorf("want %s because %s:\n%s", c.want, c.why, text)
		}
		if named := strings.Contains(text, "tuning: a test\n"); named != (c.options.Tuning != nil) {
			t.Errorf("the table's source:\n%s", text)
		}
	}
	comm := world(t, 4, Options{Tuning: tuned()})[0]
	if text := comm.Explain(algorithm.AllReduce, Float32, 1<<18); !strings.Contains(text, "merge, because ") || !strings.Contains(text, "ring for reductions of the user's") {
		t.Errorf("a length that is merged, whatever the table has:\n%s", text)
	}
	call := &algorithm.Call{Op: algorithm.AllReduce, Size: 4, Count: 1 << 18}
	if a, why := comm.choose(call, 4, true); !a.Ordered || why != byTuned+notAlone {
		t.Errorf("an operation that must keep the order goes by %s, because %s", a.Name, why)
	}
}

// A table that has timed merges says from which length on there are any: where it has an algorithm the call goes by that one, and
// calls come to the same either way.
func TestTuningOfMerges(t *testing.T) {
	table := func() *Tuning {
		x := tuned()
		of := x.Transports["inproc"]
		of.Choices = append(of.Choices, Choice{"AllReduce", 4, 1 << 20, MergeName})
		x.Transports["inproc"] = of
		return x
	}
	var b bytes.Buffer
	if _, err := table().WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	read, err := ReadTuning(&b)
	if err != nil {
		t.Fatal(err)
	}
	comms := world(t, 4, Options{Tuning: read})
	for _, c := range []struct {
		op   algorithm.Op
		n    int64
		want string
	}{
		{algorithm.AllReduce, 1 << 17, "ring, because " + byTable}, {algorithm.AllReduce, 1 << 18, "merge, because "},
		{algorithm.Reduce, 1 << 17, "merge, because "}, // of which the table has timed no merges
	} {
		if text := comms[0].Explain(c.op, Float32, c.n); !strings.Contains(text, c.want) || !comms[0].Merges(c.op, Float32, c.n) {
			t.Errorf("%s of %d: want %s\n%s", c.op, c.n, c.want, text)
		}
	}
	if comms[0].Merges(algorithm.AllReduce, Float32, 8) || comms[0].Merges(algorithm.AllGather, Float32, 1<<18) {
		t.Error("what is short, or reduces nothing, is merged")
	}
	for i, n := range []int{1 << 17, 1 << 18} {
		must(t, comms, func(c *Comm) error {
			v := fill[int64](c.Rank(), int64(n/2))
			return c.AllReduce(context.Background(), Of(v), Of(v), Sum)
		})
		if merged := comms[0].mover.header.Call.Algorithm == merging; merged != (i == 1) {
			t.Errorf("%d elements are merged: %t", n, merged)
		}
	}
	x := table()
	x.Transports["inproc"].Choices[0] = Choice{"AllGather", 4, 0, MergeName}
	b.Reset()
	if _, err := x.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadTuning(&b); err == nil || !strings.Contains(err.Error(), `no algorithm "merge" for AllGather`) {
		t.Errorf("an operation that nobody merges: %v", err)
	}
}

// A table that was written is read as it was, from a file that the environment names
// too; one that is wrong is refused with what is wrong.
func TestTuningFiles(t *testing.T) {
	var b bytes.Buffer
	if _, err := tuned().WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tuning.json")
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv(TuningVariable, path)
	if text := world(t, 4, Options{})[0].Explain(algorithm.AllReduce, Float32, 1<<10); !strings.Contains(text, "ring, because "+byTable) {
		t.Errorf("by the environment's table:\n%s", text)
	}
	good := b.String()
	for _, c := range []struct{ old, new, want string }{
		{`"ring"`, `"rings"`, `no algorithm "rings" for AllReduce`},
		{`"AllReduce"`, `"AllRed"`, `no operation "AllRed"`},
		{`"ranks": 4`, `"ranks": 0`, "0 ranks"},
		{`"beta": 1e-12`, `"beta": -1`, "a model of"},
		{`"alpha": 1,`, ``, "cost nothing"},
		{`"source"`, `"sauce"`, "sauce"},
		{`"transports": {`, `"transports": [{`, "array"},
	} {
		if _, err := ReadTuning(strings.NewReader(strings.Replace(good, c.old, c.new, 1))); !errors.Is(err, device.ErrMismatch) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("with %s for %s: %v, want %q", c.new, c.old, err, c.want)
		}
	}
	t.Setenv(TuningVariable, path+"x")
	if _, err := New(inproc.New(1)[0], Options{}); !errors.Is(err, device.ErrUnavailable) || !strings.Contains(err.Error(), TuningVariable) {
		t.Errorf("a table that is not there: %v", err)
	}
	if _, err := New(inproc.New(1)[0], Options{Tuning: &Tuning{}}); !errors.Is(err, device.ErrMismatch) {
		t.Errorf("an empty table: %v", err)
	}
}
