"""Progress of operations."""

import threading

import pytest
import volley as vo


def test_progress(capsys: pytest.CaptureFixture[str]) -> None:
    t = vo.Table({"k": list(range(10_000))}, device="cpu")
    seen: list[vo.Progress] = []
    with vo.progress(seen.append, interval=0.01):
        assert len(t.filter("k >= 10").sort("k", descending=True)) == 9990
    assert seen and seen[-1].seconds >= 0 and max(p.read for p in seen) >= 10_000
    before = len(seen)
    t.filter("k > 1")
    assert len(seen) == before
    with vo.progress():
        t.filter("k >= 10")
    assert "10,000 of 10,000 rows" in capsys.readouterr().err
    big = vo.Table({"a": [1] * (1 << 19)}, device="cpu").lazy()
    endless = big.join(big, how="cross").agg(vo.sql("a + a_right").sum())
    with vo.progress(lambda p: False, interval=0.01), pytest.raises(vo.Canceled):
        endless.collect()
    ended: list[str] = []

    def other() -> None:
        with vo.progress(lambda p: p.seconds < 0.05, interval=0.01):
            try:
                endless.collect()
            except vo.Canceled as e:
                ended.append(str(e))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert len(ended) == 1
    with pytest.raises(ValueError, match="interval"), vo.progress(interval=0):
        pass
