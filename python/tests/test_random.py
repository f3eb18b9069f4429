"""A thousand random tables through each protocol: every type that both sides have, nulls, slices, chunks, dictionaries, nested."""

import random
from collections.abc import Callable

import duckdb
import nanoarrow as na
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
import volley as vo
from pyarrow.interchange import from_dataframe
from random_tables import DICTIONARIES, EVERY, NESTED, PLAIN, table
from volley._library import live

CASES = 1000
# DuckDB counts timestamps in microseconds where they have a zone, and durations as intervals of months, days and microseconds.
DUCK = [t for t in PLAIN if not (pa.types.is_duration(t) or pa.types.is_timestamp(t) and t.tz)] + [NESTED[0], NESTED[2], NESTED[3]]
NUMBERS = [t for t in PLAIN if pa.types.is_integer(t) or pa.types.is_floating(t)]
INTERCHANGED = [t for t in PLAIN if not (pa.types.is_binary(t) or pa.types.is_duration(t) or pa.types.is_date(t))] + DICTIONARIES[:2]


def through_stream(t: pa.Table, case: int) -> None:
    there = vo.Table(t, validate="full")
    back = pa.table(there)
    back.validate(full=True)
    assert back.to_pylist() == t.to_pylist()
    assert there.to_pydict() == t.to_pydict()


def through_arrays(t: pa.Table, case: int) -> None:
    for a in (c for chunked in t.columns for c in chunked.chunks):
        c = vo.Column(a, validate="full")
        back = pa.array(c)
        back.validate(full=True)
        assert back.to_pylist() == a.to_pylist() == c.to_pylist() and len(c) == len(a) and c.null_count == a.null_count


def through_nanoarrow(t: pa.Table, case: int) -> None:
    """nanoarrow reads what volley exports, and exports what volley imports."""
    there = vo.Table(t)
    stream = na.ArrayStream(there)
    again = vo.Table(stream, validate="full")
    assert again.to_pydict() == t.to_pydict()
    names = t.column_names
    if not any(pa.types.is_dictionary(f.type) or pa.types.is_float16(f.type) for f in t.schema):
        for row, want in zip(na.ArrayStream(there.select(*names)).read_all().to_pylist(), t.to_pylist(), strict=True):
            assert row == want
    for n in names:
        assert vo.Column(na.Array(there[n]), validate="full").to_pylist() == t[n].to_pylist()


def through_polars(t: pa.Table, case: int) -> None:
    frame = pl.DataFrame(vo.Table(t))
    assert frame.to_dict(as_series=False) == t.to_pydict()
    assert vo.Table(frame, validate="full").to_pydict() == t.to_pydict()


def through_duckdb(t: pa.Table, case: int) -> None:
    there = vo.Table(t)  # DuckDB finds it by its name
    back = vo.Table(duckdb.sql("select * from there").to_arrow_table(), validate="full")
    assert back.to_pydict() == t.to_pydict()


def through_interchange(t: pa.Table, case: int) -> None:
    assert from_dataframe(vo.Table(t).__dataframe__()).to_pydict() == t.to_pydict()


def through_tensors(t: pa.Table, case: int) -> None:
    for n in t.column_names:
        c = vo.Table(t)[n]
        want = t[n].to_pylist()
        a, b = np.from_dlpack(c), np.asarray(c)
        assert a.tolist() == want == b.tolist() and a.dtype == b.dtype == c.dtype 
        assert np.asarray(c.buffer()).tolist() == want
        assert vo.Column(a).to_pylist() == want and vo.Column(np.repeat(a, 2)[::2]).to_pylist() == want
        if len(c):
            assert a.ctypes.data == b.ctypes.data


PROTOCOLS: list[tuple[Callable[[pa.Table, int], None], list[pa.DataType], tuple[float, ...]]] = [
    (through_stream, EVERY, (0, 0.3, 1)),
    (through_arrays, EVERY, (0, 0.3, 1)),
    (through_nanoarrow, PLAIN + DICTIONARIES + NESTED[:4], (0, 0.3, 1)),
    (through_polars, [t for t in PLAIN if t != pa.timestamp("s")] + [NESTED[0], NESTED[2], NESTED[3]], (0, 0.3, 1)),
    (through_duckdb, DUCK, (0, 0.3, 1)),
    (through_interchange, INTERCHANGED, (0, 0.3)),
    (through_tensors, NUMBERS, (0,)),
]


@pytest.mark.parametrize(("through", "types", "nulls"), PROTOCOLS, ids=[p[0].__name__ for p in PROTOCOLS])
def test_a_thousand_tables(through: Callable[[pa.Table, int], None], types: list[pa.DataType], nulls: tuple[float, ...]) -> None:
    before = live()
    for case in range(CASES):
        t = table(random.Random(case), types, nulls)
        try:
            through(t, case)
        except Exception as e:
            raise AssertionError(f"table {case}: {t.schema}\n{t.to_pydict()}") from e
    assert live() <= before + 2  # tokens are kept
