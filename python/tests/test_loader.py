"""The loader by itself and with NumPy: each row once, the memory lent and not copied, resumed to the row, and what goes wrong."""

import gc
import json
import pathlib
import sys
import threading
import time

import numpy as np
import pytest
import volley as vo
from volley._library import live

ROWS = 1000


def numbers(rows: int = ROWS) -> vo.Table:
    return vo.Table({"x": np.arange(rows, dtype=np.float32), "y": np.arange(rows) % 7, "z": np.arange(rows, dtype=np.float64) / 2})


def address(a: np.ndarray) -> int:
    return a.__array_interface__["data"][0]


def test_epoch_has_each_row_once() -> None:
    loader = vo.Loader(numbers(), 64, labels="y", row_numbers=True, shuffle=True, seed=7)
    assert len(loader) == 16
    orders = []
    for _ in range(2):
        seen = []
        for x, y, rows in loader.numpy():
            assert x.shape == (len(rows), 2) and x.dtype == y.dtype == np.float32 and y.shape == (len(rows), 1)
            assert x.flags.c_contiguous and address(x) % 64 == 0
            assert (x[:, 0] == rows).all() and (x[:, 1] == rows / 2).all() and (y[:, 0] == rows % 7).all()
            seen += rows.tolist()
        assert sorted(seen) == list(range(ROWS))
        orders.append(seen)
    assert orders[0] != orders[1] != sorted(orders[1])
    again = vo.Loader(numbers(), 64, features=["x"], row_numbers=True, shuffle=True, seed=7, workers=0)
    assert [r for _, rows in again.numpy() for r in rows] == orders[0]


def test_layouts_and_masks() -> None:
    t = vo.Table({"a": [1, None, 3], "b": [0.5, 1.5, None], "ok": [True, False, True]})
    with pytest.raises(vo.Mismatch, match="nulls"):
        vo.Loader(t, 2)
    columns, masks, y, mask = vo.Loader(t, 3, layout="columns", labels=["ok"], masks=True).next().numpy()
    assert {n: c.dtype.name for n, c in columns.items()} == {"a": "int64", "b": "float64"}
    assert columns["a"].tolist() == [1, 0, 3] and masks["a"].tolist() == [1, 0, 1] and masks["b"].tolist() == [1, 1, 0]
    assert y.tolist() == [[1], [0], [1]] and mask.all()
    x, y = vo.Loader(numbers(), 10, labels=["y"], layout="column_major", dtype="float64", label_dtype="int64").next().numpy()
    assert x.flags.f_contiguous and x.dtype == np.float64 and x[3].tolist() == [3, 1.5] and y.dtype == np.int64
    b = vo.Loader(numbers(), 10, features=["x"]).next()
    assert (len(b), b.epoch, b.padded) == (10, 0, 0)
    assert np.from_dlpack(b.features).shape == (10, 1)


def test_memory_is_lent_and_comes_back() -> None:
    before = live()
    loader = vo.Loader(numbers(), 100, prefetch=2)
    seen = set()
    for x in loader.numpy():
        seen.add(address(x))
    del x
    assert len(seen) <= 2  # the ring's two batches, over and over
    first, second = loader.next(), loader.next()
    x = np.from_dlpack(first.features)
    with pytest.raises(vo.Closed, match="handed out before"):
        np.from_dlpack(first.features)
    view = x[1:3]
    first.close()
    with pytest.raises(vo.Closed):
        first.features.capsule()
    del first, x
    with pytest.raises(vo.OutOfMemory, match="all 2 batches"):
        loader.next()
    assert view[0].tolist() == [1.0, 1.0, 0.5]
    del view
    assert loader.next() is not None
    kept = second.features.capsule()
    loader.close()
    del second, kept
    with pytest.raises(vo.Closed):
        loader.next()
    assert live() <= before + 1  # the table of a loader that is still named


def test_the_report_says_what_bounds() -> None:
    with vo.Loader(vo.Table({"x": [float(i) for i in range(100)]}), 10, epochs=1) as loader:
        for batch in loader:
            time.sleep(0.002)
            batch.close()
        report = loader.report()
        s = loader.stats()
    assert report.startswith("10 batches, 100 rows in ") and f"bound by: {s['bound']}\n" in report and "rows/s" in report and "batches ready" in report
    assert f"ring {s['ring']} bytes, arranged data {s['spare']} bytes" in report and " wait for room " in report
    assert report.endswith("\norder of the rows: that of the data") and abs(s["rows_per_second"] - 100 / s["elapsed"]) < 1e-6
    assert s["read"] == s["decode"] == s["decode_wait"] == s["copy"] == 0 and not any(f" {name} " in report for name in ("read", "decode", "copy"))


def test_the_report_has_the_times_of_the_stages(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "rows.csv")
    pathlib.Path(path).write_text("x\n" + "".join(f"{i}.5\n" for i in range(20000)))
    with vo.Loader(path, 100, derive={"y": "x * 2 + 1"}, epochs=1) as loader:
        assert sum(len(b) for b in loader) == 20000
        report, s = loader.report(), loader.stats()
    stages = {"read": "read", "decode": "decode", "decode_wait": "wait for decoding", "gather": "gather", "transform": "transform"}
    told = report.splitlines()[1]
    assert told.startswith("all workers together:")
    for field, name in stages.items():
        assert (s[field] > 0) == (f" {name} " in told), (field, s[field], told)
    assert s["decode"] > 0 and s["transform"] > 0 and s["copy"] == 0
    assert s["bound"] in ("consumer", "read", "decode", "gather", "transform")


def test_who_holds_all_batches_is_told() -> None:
    loader = vo.Loader(numbers(), 10, prefetch=3)
    with pytest.raises(vo.OutOfMemory, match="larger"):
        list(loader.numpy())
    assert sum(len(x) for x in loader.numpy()) == ROWS - 30  # and goes on behind them

    class Cycle:
        pass

    held = vo.Loader(numbers(), 10, prefetch=2)
    for x in held.numpy():  # held by garbage that only the collector frees
        c = Cycle()
        c.me, c.x = c, x
        del c, x


def test_resume_gives_what_was_not_given() -> None:
    first = vo.Loader(numbers(), 64, row_numbers=True, shuffle=True, seed=3)
    seen = []
    for i, (_, rows) in enumerate(first.numpy()):
        seen += rows.tolist()
        if i == 4:
            break
    state = json.loads(json.dumps(first.state_dict()))
    assert state["position"] == 5 * 64
    for rank in range(3):  # the ranks of another number
        second = vo.Loader(numbers(), 50, row_numbers=True, shuffle=True, seed=3, rank=rank, num_replicas=3, remainder="uneven", state=state)
        seen += [r for _, rows in second.numpy() for r in rows.tolist()]
    assert sorted(seen) == list(range(ROWS))
    with pytest.raises(vo.Mismatch, match="seed"):
        vo.Loader(numbers(), 64, shuffle=True, seed=4, state=state)
    with pytest.raises(vo.Mismatch, match="number of rows"):
        vo.Loader(numbers(999), 64, shuffle=True, seed=3, state=state)
    rest = [r for _, rows in first.numpy() for r in rows.tolist()]  # a loop after a break goes on
    first.load_state_dict(state)
    assert [r for _, rows in first.numpy() for r in rows.tolist()] == rest
    assert first.state_dict()["epoch"] == 1


def test_a_table_that_is_taken() -> None:
    gc.collect()
    before, t = live(), numbers()
    want = [x.tolist() for x in vo.Loader(t, 64, shuffle=True, seed=7, epochs=2).numpy()]
    loader = vo.Loader(t, 64, shuffle=True, seed=7, take=True)
    with pytest.raises(vo.Closed):
        len(t)
    got = []
    for x in loader.numpy():
        got.append(x.tolist())
        if len(got) == 5:
            break
    state = loader.state_dict()
    got += [x.tolist() for x in loader.numpy()]
    assert got == want and loader.stats()["spare"] == ROWS * 3 * 4
    loader.load_state_dict(state)
    assert [x.tolist() for x in loader.numpy()] == want[5:]
    loader.set_epoch(0)
    assert [x.tolist() for x in loader.numpy()] == want
    assert vo.Loader(numbers(), 64, layout="columns", take=True).types() == {"x": "float32", "y": "int64", "z": "float64"}
    del loader, t, x
    gc.collect()
    assert live() == before


def test_distributed_sampler_arguments() -> None:
    def rows_of(**more: object) -> list[int]:
        return [r for _, rows in vo.Loader(numbers(103), 10, row_numbers=True, **more).numpy() for r in rows.tolist()]  # type: ignore[arg-type]

    ranks = [rows_of(rank=r, num_replicas=4, shuffle=True) for r in range(4)]
    assert {len(r) for r in ranks} == {26} and set(sum(ranks, [])) == set(range(103))
    whole = [rows_of(rank=r, num_replicas=4, drop_last=True) for r in range(4)]
    assert {len(r) for r in whole} == {20} and len(set(sum(whole, []))) == 80
    with pytest.raises(vo.Mismatch, match="rank 4"):
        rows_of(rank=4, num_replicas=4)

    loader = vo.Loader(numbers(103), 10, row_numbers=True, shuffle=True, seed=1)
    epochs = [[r for _, rows in loader.numpy() for r in rows.tolist()] for _ in range(3)]
    loader.next()
    loader.set_epoch(1)
    assert [r for _, rows in loader.numpy() for r in rows.tolist()] == epochs[1]
    loader.set_epoch(2)  # which comes next
    assert [r for _, rows in loader.numpy() for r in rows.tolist()] == epochs[2]


def test_transform_and_its_errors() -> None:
    def checked(x: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, int]:
        if 70 in rows:
            raise KeyError("a row that is not liked")
        return x * 2, int(rows[0])

    loader = vo.Loader(numbers(100), 10, row_numbers=True)
    batches = loader.numpy(checked)
    got = []
    with pytest.raises(KeyError, match="not liked"):
        for x, first in batches:
            assert x[0, 0] == 2 * first
            got.append(first)
    assert got == [0, 10, 20, 30, 40, 50, 60]
    assert [first for _, first in batches] == [80, 90]  # behind the one that failed
    assert [int(x[0, 0]) for x in vo.Loader(numbers(20), 10, features=["x"]).numpy(lambda x: x + 1)] == [1, 11]


def test_the_gil_is_released() -> None:
    loader = vo.Loader(numbers(100000), 1000, workers=0)
    go, went = threading.Lock(), threading.Event()
    go.acquire()

    def other() -> None:
        with go:
            went.set()

    interval = sys.getswitchinterval()
    thread = threading.Thread(target=other)
    thread.start()
    try:
        sys.setswitchinterval(3600)  # it is given away by nobody but who releases it
        go.release()
        for _ in range(1000):
            assert not went.is_set()
        for _ in range(100000):
            loader.next()
            if went.is_set():
                break
        assert went.is_set()
    finally:
        sys.setswitchinterval(interval)
        thread.join()


def test_windows() -> None:
    t = vo.Table({"basin": [1] * 6 + [2] * 5, "x": np.arange(11, dtype=np.float32), "y": np.arange(11) * 10})
    loader = vo.Loader(t, 10, labels="y", history=3, horizon=2, entity="basin", row_numbers=True)
    assert loader.features == ["x", "y"]
    x, y, rows = loader.next().numpy()
    assert x.shape == (3, 3, 2) and y.shape == (3, 2, 1) and rows.tolist() == [0, 1, 2]
    assert x[:, :, 0].tolist() == [[0, 1, 2], [1, 2, 3], [6, 7, 8]] and y[:, :, 0].tolist() == [[30, 40], [40, 50], [90, 100]]
    gauges = vo.Table({"basin": ["01013500"] * 6 + ["01022500"] * 5, "x": np.arange(11, dtype=np.float32), "y": np.arange(11) * 10})
    named = vo.Loader(gauges, 10, labels="y", history=3, horizon=2, entity="basin")
    assert named.features == ["x", "y"]
    assert all(np.array_equal(p, q) for p, q in zip(named.next().numpy(), (x, y), strict=True))
    last = vo.Loader(t, 10, features=["x"], labels=["y"], history=4, stride=2).numpy()
    x, y = next(iter(last))
    assert x.shape == (4, 4, 1) and y[:, 0].tolist() == [30, 50, 70, 90]


def test_faults() -> None:
    t = numbers(10)
    for wrong, text in (
        ({"layout": "sideways"}, "sideways"), ({"features": ["w"]}, "w"), ({"features": []}, "no columns"), ({"remainder": "most"}, "most"),
        ({"dtype": "lint8"}, "lint8"), ({"state": {"seed": "x"}}, "state"), ({"num_replicas": 20, "drop_last": True}, "no whole batch"),
    ):  # fmt: skip
        with pytest.raises((vo.Mismatch, vo.Unsupported), match=text):
            vo.Loader(t, 4, **wrong)
    with pytest.raises(vo.Mismatch, match="0 rows"):
        vo.Loader(t, 0)
    with pytest.raises(vo.Mismatch, match="has no rows"):
        vo.Loader(t.head(0), 4)
    assert [len(b) for b in vo.Loader(t, 400)] == [10]
    with vo.Loader(t.lazy().filter("x > 4"), 4, epochs=1) as loader:
        assert [len(b) for b in loader] == [4, 1]
        assert loader.next() is None
        s = loader.stats()
        assert s["batches"] == 2 and s["rows"] == 5 and s["ring"] > 0 and s["bound"] in ("consumer", "gather")
