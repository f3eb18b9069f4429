"""Moments and durations of NumPy and pandas: NaT is null, whatever the unit and whatever holds it."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import pytest
import volley as vo

UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "25s")
FIXED = tuple(u for u in UNITS if u not in "YM")


@pytest.mark.parametrize("unit", UNITS)
def test_nat_of_moments_is_null(unit: str) -> None:
    a = np.array([0, 5, "NaT", -3, "NaT"], f"M8[{unit}]")
    for given in (a, a[::-1], a.astype(a.dtype.newbyteorder(">")), np.repeat(a, 2)[::2], np.ma.masked_array(a, [False] * 4 + [True])):
        c = vo.Column(given)
        assert c.null_count == 2 and c.dtype == ("date32" if unit in "YMWD" else f"timestamp[{'s' if unit in ('h', 'm', '25s') else unit}]")
        back = np.asarray(c)
        want = np.ma.filled(given, np.datetime64("NaT")) if isinstance(given, np.ma.MaskedArray) else np.asarray(given)
        assert np.array_equal(back.astype(want.dtype), want, equal_nan=True)
    full = vo.Column(a[:2])
    assert full.null_count == 0 and vo.Table({"t": a}).filter(vo.col("t").is_null()).shape == (2, 1)


@pytest.mark.parametrize("unit", FIXED)
def test_nat_of_durations_is_null(unit: str) -> None:
    a = np.array([0, 5, "NaT", -3, "NaT"], f"m8[{unit}]")
    for given in (a, a[::-1], a.astype(a.dtype.newbyteorder(">"))):
        c = vo.Column(given)
        assert c.null_count == 2 and c.dtype == f"duration[{unit if unit in ('s', 'ms', 'us', 'ns') else 's'}]"
        assert np.array_equal(np.asarray(c).astype(given.dtype), given, equal_nan=True)


def test_memory_is_shared_where_the_unit_is_arrows() -> None:
    for a in (np.arange(100).view("M8[us]"), np.arange(100).view("m8[ns]")):
        assert np.shares_memory(np.asarray(vo.Column(a)), a)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (np.array([1], "m8[Y]"), vo.Unsupported), (np.array([1], "m8[M]"), vo.Unsupported), (np.array([1], "m8"), vo.Unsupported),
        (np.array([1], "M8[ps]"), OverflowError), (np.array([2**62], "m8[h]"), OverflowError), (np.array([2**40], "M8[D]"), OverflowError),
        (np.zeros((2, 2), "M8[s]"), vo.Mismatch), (pd.PeriodIndex(["2020-01"], freq="M"), TypeError),
    ],
    ids=str,
)  # fmt: skip
def test_what_does_not_fit_is_an_error(given: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="^Column: "):
        vo.Column(given)


def test_exact_parts_of_nanoseconds() -> None:
    assert vo.Column(np.array([3000, "NaT"], "M8[ps]")).dtype == "timestamp[ns]"
    assert vo.Column(np.array(["NaT"], "M8")).null_count == vo.Column(np.array(["NaT", "NaT"], "m8")).null_count - 1 == 1


MOMENTS = ["2020-01-01 12:00:00.123456", None, "1969-12-31"]


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Oslo", "Asia/Kolkata", "+05:30", "-03:00"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_pandas_times(unit: str, zone: str | None) -> None:
    index = pd.DatetimeIndex([pd.Timestamp(m) for m in MOMENTS]).as_unit(unit)  # type: ignore[arg-type]
    index = index if zone is None else index.tz_localize(zone)
    dtype = f"timestamp[{unit}{'' if zone is None else f', tz={zone}'}]"
    for given in (index, index.array, pd.Series(index)):
        c = vo.Column(given)
        assert c.dtype == dtype and c.null_count == 1
        assert c.to_pylist()[::2] == [x.to_pydatetime(warn=False) for x in index[[0, 2]]]
    assert vo.Table({"t": index}).dtypes == [dtype]
    spans = pd.TimedeltaIndex(["1 days", None, "-2 s"]).as_unit(unit)  # type: ignore[arg-type]
    c = vo.Column(spans)
    assert c.dtype == f"duration[{unit}]" and c.to_pylist() == [dt.timedelta(1), None, dt.timedelta(seconds=-2)]


def test_lists_of_scalars() -> None:
    day = np.datetime64("2020-01-01")
    for items, dtype, values in (
        ([np.datetime64("2020-01-01T00:00:00.000000001"), None], "timestamp[ns]", [dt.datetime(2020, 1, 1), None]),
        ([np.datetime64("2020-01-01", "s"), np.datetime64("NaT")], "timestamp[s]", [dt.datetime(2020, 1, 1), None]),
        ([day, None], "date32", [dt.date(2020, 1, 1), None]),
        ([np.timedelta64(5, "ns"), np.timedelta64("NaT")], "duration[ns]", [dt.timedelta(0), None]),
        ([pd.Timestamp("2020-01-01 01:00", tz="Europe/Oslo"), pd.NaT], "timestamp[us, tz=UTC]", [dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc), None]),
        ([dt.datetime(2020, 1, 1), pd.NaT], "timestamp[us]", [dt.datetime(2020, 1, 1), None]),
        ([pd.Timedelta(1, "D"), None, dt.timedelta(2)], "duration[us]", [dt.timedelta(1), None, dt.timedelta(2)]),
        ([1, pd.NA], "int64", [1, None]),
        ([np.uint64(2**64 - 1), np.int8(1)], "uint64", [2**64 - 1, 1]),
    ):
        c = vo.Column(items)
        assert (c.dtype.replace("[s]", "[us]"), c.to_pylist()) == (dtype.replace("[s]", "[us]"), values), items
    for wrong in ([np.datetime64("2020-01-01"), 5], [np.timedelta64(1, "s"), dt.datetime(2020, 1, 1)], [pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-01", tz="UTC")]):
        with pytest.raises(TypeError, match="^Column: "):
            vo.Column(wrong)
    assert vo.Column(np.array(["2020-01-01", "NaT"], "M8[ns]"), "timestamp[ms]").to_pylist() == [dt.datetime(2020, 1, 1), None]
    with pytest.raises(OverflowError):
        vo.Column(np.array([1], "M8[ns]"), "timestamp[ms]")


def test_literals() -> None:
    t = vo.Table({"t": np.array(["2020-01-01T00:00:00.000000001", "2021-01-01", "NaT"], "M8[ns]"), "d": np.array([1, 5, 7], "m8[ns]")})
    for value in (np.datetime64("2020-01-01T00:00:00.000000001"), pd.Timestamp("2020-01-01 00:00:00.000000001")):
        assert len(t.filter(vo.col("t") == value)) == 1 and len(t.filter(vo.col("t") <= value)) == 1 and len(t.filter(t=value)) == 1
    for span in (np.timedelta64(5, "ns"), pd.Timedelta(5, "ns")):
        assert len(t.filter(vo.col("d") >= span)) == 2
    for missing in (pd.NaT, pd.NA, np.datetime64("NaT"), np.timedelta64("NaT")):
        assert str(vo.lit(missing)) == "null"
    assert len(t.filter(vo.col("t").is_in(t["t"].to_numpy()[:2]))) == 2
    day = vo.Table({"t": [dt.time(1, 2, 3), dt.time(4), None]})
    assert len(day.filter(vo.col("t") == dt.time(4))) == 1 and len(day.filter(vo.col("t") < dt.time(3, 0, 0, 5))) == 1
    with pytest.raises(TypeError, match="^lit: value: .*time zone"):
        vo.lit(dt.time(1, tzinfo=dt.timezone.utc))
