"""Pickles and copies: a process that gets one has the data, and no number of an object that is somebody else's there."""

from __future__ import annotations

import copy
import ctypes
import datetime as dt
import gc
import multiprocessing
import pickle
import weakref
from concurrent.futures import ProcessPoolExecutor
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import volley as vo
from volley import col
from volley._library import drain, live

N = 17
VALUES: dict[str, Any] = {
    "i": pa.array([1, None, 3] * N), "u8": pa.array([1, 2, 255] * N, pa.uint8()), "b": pa.array([True, None, False] * N), "f16": pa.array(np.array([1, 2, 3] * N, "float16")),
    "s": pa.array(["a", None, "xyz"] * N), "ls": pa.array(["a", None, "xyz"] * N, pa.large_string()), "none": pa.nulls(3 * N), "bin": pa.array([b"a", None, b"cc"] * N),
    "blocks": pa.array([b"ab", None, b"cd"] * N, pa.binary(2)), "views": pa.array(["a", None, "a text that is longer than a view"] * N, pa.string_view()),
    "d": pa.array([Decimal("1.50"), None, Decimal("-2.25")] * N, pa.decimal128(10, 2)), "t": pa.array([dt.time(1, 2), None, dt.time(3)] * N),
    "day": pa.array([dt.date(2020, 1, 1), None, dt.date(1950, 1, 1)] * N), "ts": pa.array([dt.datetime(2020, 1, 1), None, dt.datetime(2021, 1, 1)] * N, pa.timestamp("us", "Europe/Oslo")),
    "l": pa.array([[1, 2], None, [3]] * N), "ll": pa.array([[[1], []], None, [[2, 3]]] * N), "texts": pa.array([["a", "b"], None, ["c"]] * N, pa.large_list(pa.string())),
    "st": pa.array([{"x": 1, "y": "a"}, None, {"x": None, "y": "b"}] * N), "fl": pa.array([[1, 2], None, [3, 4]] * N, pa.list_(pa.int8(), 2)),
    "words": pa.array(["p", None, "q"] * N).dictionary_encode(),
}  # fmt: skip
WHOLE = pa.table(VALUES)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", VALUES)
def test_columns(name: str, protocol: int) -> None:
    c = vo.Column(VALUES[name])
    for part in (c, c.slice(3), c.slice(9, 1), c.slice(13, 20), c.slice(5, 0)):
        back = pickle.loads(pickle.dumps(part, protocol))
        assert back.to_pylist() == part.to_pylist() and back.dtype == part.dtype and back.null_count == part.null_count
        pa.array(back).validate(full=True)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_tables(protocol: int) -> None:
    described = pa.schema([pa.field("n", pa.int64(), False, {"unit": "m"}), pa.field("s", pa.string())], {"made by": "hand"})
    for given in (WHOLE, WHOLE.slice(5, 11), WHOLE.slice(0, 0), pa.concat_tables([WHOLE, WHOLE.slice(3, 9)]), pa.table({"n": [1, 2], "s": ["x", None]}, schema=described), pa.table({})):
        t = vo.Table(given)
        back = pickle.loads(pickle.dumps(t, protocol))
        assert back.num_chunks == t.num_chunks
        assert pa.table(back).equals(pa.table(t), check_metadata=True)


def test_buffers_go_beside_the_pickle_without_a_copy() -> None:
    numbers = np.arange(100_000, dtype="float64")
    t = vo.Table({"x": numbers})
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(t, 5, buffer_callback=lambda b: buffers.append(b))
    assert len(data) < 1000 and sum(len(b.raw()) for b in buffers) == numbers.nbytes
    back = pickle.loads(data, buffers=buffers)
    assert np.shares_memory(np.asarray(back["x"]), numbers)
    assert len(pickle.dumps(vo.Column(numbers).slice(500, 10))) < 1000, "a slice carries its own values"


def test_memory_of_a_pickle_comes_back() -> None:
    before = live()
    for x in (vo.Table(WHOLE), vo.Table({"a": [1, 2], "b": ["x", None]}), vo.Column(VALUES["st"]), vo.Column([[1], None])):
        beside: list[pickle.PickleBuffer] = []
        data = pickle.dumps(x, 5, buffer_callback=lambda b, beside=beside: beside.append(b))
        memory = [np.frombuffer(bytearray(b.raw()), "uint8") for b in beside]
        kept = [weakref.ref(m) for m in memory]
        back = pickle.loads(data, buffers=memory)
        del memory, beside
        gc.collect()
        assert any(k() is not None for k in kept), "the object reads the memory that was handed over"
        back.close()
        del back
        gc.collect()
        drain()
        assert all(k() is None for k in kept)
    del x
    gc.collect()
    assert live() <= before


def test_other_objects() -> None:
    e = (col("a") + 1 > Decimal("2.50")) & col("s").is_in(["x", "it's"]) | (col("ts") < dt.datetime(2020, 1, 1))
    assert str(pickle.loads(pickle.dumps(e))) == str(e) and str(copy.deepcopy(e)) == str(e)
    agg = copy.deepcopy(pickle.loads(pickle.dumps(col("a").var(ddof=0).alias("v"))))
    assert (agg.op, agg.name, agg.ddof, str(agg.input)) == ("var", "v", 0, "a")
    assert pickle.loads(pickle.dumps(vo.Device("cpu"))) == vo.Device("cpu")
    for made in (np.arange(6.0).reshape(2, 3), np.arange(6, dtype="float32").reshape(3, 2)[:, :1]):
        back = pickle.loads(pickle.dumps(vo.Matrix(made)))
        assert np.array_equal(np.asarray(back), made) and np.asarray(back).dtype == made.dtype
    for error in (vo.Mismatch("a", "mismatch", "cpu"), vo.NotFound("b", "x"), vo.CollectiveFault("c")):
        back = pickle.loads(pickle.dumps(error))
        assert type(back) is type(error) and str(back) == str(error) and (back.kind, back.device) == (error.kind, error.device)


def test_a_copy_is_an_object_of_its_own() -> None:
    t = vo.Table({"a": [1, 2, 3]})
    for x, look in ((t, len), (t["a"], len), (vo.Matrix(np.ones((2, 2))), lambda m: m.shape), (t.lazy(), lambda q: len(q.collect())), (col("a"), str)):
        want = look(x)
        for made in (copy.copy(x), copy.deepcopy(x)):
            assert look(made) == want
            made.close()
            del made
            assert look(x) == want
        made = copy.copy(x)
        x.close()
        assert look(made) == want
        with pytest.raises(vo.Closed):
            copy.copy(x)


def test_what_stays_in_its_process() -> None:
    t = vo.Table({"x": [1.0, 2.0]})
    loader = vo.Loader(t, 1)
    batch = loader.next()
    with vo.Comm() as comm:
        for x in (comm, loader, batch, comm.allreduce_async(np.ones(1))):
            for use in (pickle.dumps, copy.copy, copy.deepcopy):
                with pytest.raises(TypeError, match="cannot be pickled or copied: "):
                    use(x)
        for x in (t.lazy(), t.group_by("x"), loader.numpy()):
            with pytest.raises(TypeError, match="cannot be pickled or copied: "):
                pickle.dumps(x)
    loader.close()


def _in_a_worker(t: vo.Table, c: vo.Column, e: vo.Expr) -> tuple[Any, ...]:
    own = vo.Table({"mine": [0] * 5})  # whose number would be that of the first table of the program
    return t.filter(e), c, len(own)


def test_spawned_workers_get_the_data() -> None:
    tables = [vo.Table({"a": [i, i + 1]}) for i in range(4)]
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as workers:
        t, c, rows = workers.submit(_in_a_worker, tables[2], tables[3]["a"], col("a") > 2).result(timeout=100)
    assert t.to_pydict() == {"a": [3]} and c.to_pylist() == [3, 4] and rows == 5


def test_a_schema_outlives_what_it_was_made_of() -> None:
    """A table is made of a pickle by Arrow's structures, whose texts must be there as long as the structures, wherever those are moved."""
    from volley import _capsule
    from volley._arrays import Kind, Made, none_of
    from volley.loader_batches import _Producer

    kind = Kind("+s", b"outer", None, 0, (Kind("tss:Europe/Paris", b"inner", None, 2, (), None),), None)
    moved = _capsule.Schema()
    _Producer([Made(kind, none_of(kind))]).schema(ctypes.addressof(moved))
    del kind
    gc.collect()
    others = [bytes([65 + i % 26] * n) for i in range(5000) for n in (2, 5, 16)]  # take the memory of what was let go of
    inner = _capsule.ArrowSchema.from_address((ctypes.c_void_p * 1).from_address(moved.children)[0])
    assert (moved.format, moved.name, inner.format, inner.name) == (b"+s", b"outer", b"tss:Europe/Paris", b"inner")
    assert len(others) == 15000


def test_a_dictionary_of_many_chunks_is_copied_once() -> None:
    """Chunks that share their dictionary share it in the pickle, and behind it; those that have their own keep theirs."""
    words = pa.array([f"a word of some length, number {i}" for i in range(5000)])
    chunks = [pa.DictionaryArray.from_arrays(pa.array([i, None, 7], pa.int32()), words) for i in range(40)]
    table = vo.Table(pa.table({"w": pa.chunked_array(chunks), "n": pa.chunked_array([[i, 1, 2] for i in range(40)])}))
    for protocol in (4, 5):
        packed = pickle.dumps(table, protocol)
        assert words.nbytes < len(packed) < 2 * words.nbytes
        assert pickle.loads(packed).to_pydict() == table.to_pydict()
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(table, 5, buffer_callback=buffers.append)
    assert sum(b.raw().nbytes for b in buffers) < 2 * words.nbytes
    assert pickle.loads(head, buffers=buffers).to_pydict() == table.to_pydict()
    two = pa.chunked_array([pa.array(["a", "b"]).dictionary_encode(), pa.array(["c", "a"]).dictionary_encode()])
    assert pickle.loads(pickle.dumps(vo.Table(pa.table({"w": two})))).to_pydict() == {"w": ["a", "b", "c", "a"]}
