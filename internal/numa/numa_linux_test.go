package numa

import (
	"runtime"
	"slices"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"
)

func folder(lists map[string]string) fstest.MapFS {
	files := fstest.MapFS{"online": {Data: []byte("0-1\n")}, "has_cpu": {Data: []byte("0\n")}}
	for name, list := range lists {
		files[name+"/cpulist"] = &fstest.MapFile{Data: []byte(list)}
	}
	return files
}

func TestRead(t *testing.T) {
	all := func(int) bool { return true }
	got, err := read(folder(map[string]string{"node0": "0-2,9\n", "node10": "4\n", "node2": "6-7,5,6\n", "node3": "\n"}), all)
	want := []Node{{0, []int{0, 1, 2, 9}}, {2, []int{5, 6, 7}}, {10, []int{4}}}
	if err != nil || !slices.EqualFunc(got, want, func(a, b Node) bool { return a.ID == b.ID && slices.Equal(a.CPUs, b.CPUs) }) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	got, err = read(folder(map[string]string{"node0": "0-3", "node1": "4-7"}), func(cpu int) bool { return cpu < 4 })
	if err != nil || len(got) != 1 || got[0].ID != 0 {
		t.Errorf("with processors 0 to 3 permitted: got %v, %v", got, err)
	}
	for _, bad := range []string{"x", "1-", "3-1", "-1", "0-99999999"} {
		if got, err := read(folder(map[string]string{"node0": bad}), all); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}

// A goroutine is on its node's processors, and afterwards wherever it was before.
func TestEnter(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	for cpu := range 1024 {
		if !all.IsSet(cpu) {
			continue
		}
		leave := Node{CPUs: []int{cpu}}.Enter()
		var now unix.CPUSet
		if err := unix.SchedGetaffinity(0, &now); err != nil {
			t.Fatal(err)
		}
		if now.Count() != 1 || !now.IsSet(cpu) {
			t.Errorf("on processor %d: %d processors", cpu, now.Count())
		}
		leave()
		if err := unix.SchedGetaffinity(0, &now); err != nil || now != all {
			t.Errorf("after processor %d: %v, %v, want %v", cpu, now, err, all)
		}
	}
}

// A processor that is not there leaves the thread where it was.
func TestEnterRefused(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	none := 1023
	for before.IsSet(none) {
		none--
	}
	leave := Node{CPUs: []int{none}}.Enter()
	if err := unix.SchedGetaffinity(0, &after); err == nil && after.Count() == 0 {
		t.Error("no processors")
	}
	leave()
	if err := unix.SchedGetaffinity(0, &after); err != nil || after != before {
		t.Errorf("afterwards: %v, %v, want %v", after, err, before)
	}
}
