package device

import (
	"context"
	"testing"
)

func TestProgress(t *testing.T) {
	if p := ProgressOf(context.Background()); p != nil {
		t.Fatal("a context without progress has one")
	}
	var none *Progress
	none.Expect(1)
	none.Read(1)
	none.Made(1)
	if read, total, made := none.Rows(); read+total+made != 0 {
		t.Error("nil counts")
	}
	p := &Progress{}
	q := ProgressOf(WithProgress(context.Background(), p))
	q.Expect(10)
	q.Read(4)
	q.Made(2)
	if read, total, made := p.Rows(); read != 4 || total != 10 || made != 2 {
		t.Errorf("%d of %d, %d made", read, total, made)
	}
	p.Read(8) // more than anybody expected: a file says later what is in it
	if _, total, _ := p.Rows(); total != 12 {
		t.Errorf("12 rows read of %d", total)
	}
}
