package processors

import (
	"runtime"
	"testing"
)

func TestCount(t *testing.T) {
	if Count < runtime.NumCPU() || Count < counted(online()) {
		t.Errorf("%d processors are counted, %d are online, %d are this process's", Count, counted(online()), runtime.NumCPU())
	}
	for list, want := range map[string]int{"0": 1, "0-3\n": 4, "0-3,8,10-11": 7, "": 0, "a-b": 0, "3-1": 0} {
		if n := counted(list); n != want {
			t.Errorf("%q has %d processors, %d are counted", list, want, n)
		}
	}
}
