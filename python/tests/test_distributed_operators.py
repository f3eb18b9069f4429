"""The operators of tables on ranks, held against those of Table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import volley as vo
from test_distributed import ranks


@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_operators_on_two_processes(tmp_path: Path, transport: str) -> None:
    ranks(
        tmp_path,
        transport,
        f"""
        from volley import col, count
        d = vo.distributed.Table(left, comm)
        whole = d.replicate().local
        def same(made, want):
            assert made.replicate().local.rows() == want.rows(), (made.replicate().local.rows(), want.rows())
            assert made.columns == want.columns and len(made) == len(want)
        same(d.filter("v > 2", col("k").is_not_null()), whole.filter("v > 2", col("k").is_not_null()))
        same(d.filter(k=1), whole.filter(k=1))
        same(d.select("v", w=col("v") * 2), whole.select("v", w=col("v") * 2))
        same(d.with_columns(w=col("v") + 1, k=col("v")), whole.with_columns(w=col("v") + 1, k=col("v")))
        same(d.with_column("w", "v * 2"), whole.with_column("w", "v * 2"))
        same(d.with_column(w=col("v") + 1), whole.with_column(w=col("v") + 1))
        same(d.assign(w=col("v") + 1, t="text"), whole.assign(w=col("v") + 1, t="text"))
        mean, most = d.agg(col("v").mean()), d.agg(col("v").max())
        for name in ("mean", "v", "mean_v", "k"):
            for none in (False, True):
                one, local = (mean.head(0), mean.local.head(0)) if none else (mean, mean.local)
                same(d.with_scalar(**{{name: one}}), whole.with_scalar(**{{name: local}}))
        same(d.with_scalar(a=mean, b=most).filter("v > a and v < b"), whole.with_scalar(a=mean.local, b=most.local).filter("v > a and v < b"))
        same(d.sort_values(["k", "v"], ascending=[False, True], na_position="first"), whole.sort_values(["k", "v"], ascending=[False, True], na_position="first"))
        same(d.drop_duplicates("k"), whole.drop_duplicates("k"))
        same(d.limit(3), whole.limit(3))
        same(d.nlargest(3, "v"), whole.nlargest(3, "v"))
        same(d.nsmallest(3, "v"), whole.nsmallest(3, "v"))
        same(d.groupby("k").size(), whole.groupby("k").size())
        merged = d.merge(d.select("v", w="v + 1"), on="v", how="outer")
        assert sorted(merged.replicate().local.rows(), key=str) == sorted(whole.merge(whole.select("v", w="v + 1"), on="v", how="outer").rows(), key=str)
        ordered = d.sort("v")
        assert ordered.together("v") and not ordered.together("k") and ordered.unique("v").counts == ordered.counts
        same(d.drop("v"), whole.drop("v"))
        same(d.rename({{"v": "k", "k": "v"}}), whole.rename({{"v": "k", "k": "v"}}))
        for keys in (["k"], [(col("v") % 3).alias("m"), "k"]):
            by = d.group_by(*keys).agg(col("v").sum(), col("v").mean().alias("m2"), count().alias("n"), last=("v", "last"), several=("v", "n_unique"))
            same(by, whole.group_by(*keys).agg(col("v").sum(), col("v").mean().alias("m2"), count().alias("n"), last=("v", "last"), several=("v", "n_unique")))
        same(d.group_by("k", drop_nulls=True).len(), whole.group_by("k", drop_nulls=True).len())
        loose = d.group_by("k", maintain_order=False).agg(col("v").var(), col("v").max())
        assert len(loose) == len(whole.group_by("k").len())
        total = d.agg(col("v").sum(), count().alias("n"))
        assert total.partitioning.scheme == "replicated" and total.local.rows() == [(sum(whole["v"].to_pylist()), 10)] and len(total) == 1
        assert d.describe().local.rows() == whole.describe().rows()
        assert d.select(col("v").max()).local.rows() == whole.select(col("v").max()).rows()
        same(d.sort("k", "v", descending=[True, False], nulls_last=False), whole.sort("k", "v", descending=[True, False], nulls_last=False))
        same(d.sort(col("v") % 4), whole.sort(col("v") % 4))
        same(d.top_k(3, "v"), whole.top_k(3, "v"))
        same(d.bottom_k(7, "v"), whole.bottom_k(7, "v"))
        same(d.unique("k"), whole.unique("k"))
        same(d.unique(), whole.unique())
        o = vo.distributed.Table(vo.Table({{"v": [10 * me, 77], "k": [me, me]}}), comm)
        other = o.replicate().local
        same(d.intersect(o), whole.intersect(other))
        same(d.subtract(o), whole.subtract(other))
        assert sorted(d.select("v").union(o.select("v")).replicate().local["v"].to_pylist()) == sorted(whole["v"].to_pylist() + other["v"].to_pylist())
        for made, want in ((d.head(7), whole.head(7)), (d.tail(6), whole.tail(6)), (d.slice(3, 4), whole.slice(3, 4)), (d.slice(-2), whole.slice(-2))):
            same(made, want)
        same(d.with_row_index("row", 5), whole.with_row_index("row", 5))
        assert d.equals(d.repartition([1, 9])) and not d.equals(d.head(9)) and not d.equals(d.sort("v", descending=True))
        assert d.equals(d.sort("v", descending=True), check_row_order=False)
        d.write_parquet({str(tmp_path / "out")!r}, compression="zstd", row_group_size=2)
        back = vo.distributed.scan_parquet({str(tmp_path / "out")!r}, comm)
        assert back.equals(d) and min(back.counts) >= 4, back.counts
        assert vo.distributed.scan_parquet({str(tmp_path / "out")!r} + "/*.parquet", comm, columns="v").columns == ["v"]
        try:
            d.write_parquet({str(tmp_path / "out")!r})
            raise AssertionError("written over")
        except vo.Mismatch as e:
            assert "is there already" in str(e)
        d.write_csv({str(tmp_path / "csv")!r}, separator=";", null_value="none")
        assert "none;" in open({str(tmp_path / "csv")!r} + "/part-00000.csv").read()
        assert vo.distributed.scan_csv({str(tmp_path / "csv")!r}, comm, separator=";", null_values="none").equals(d)
        typed = vo.distributed.scan_csv({str(tmp_path / "csv")!r} + "/*.csv", comm, columns="w", separator=";", has_header=False, new_columns=["u", "w"], schema_overrides=dict(w="utf8"))
        assert typed.columns == ["w"] and len(typed) == len(d) + sum(1 for n in d.counts if n), (typed.columns, len(typed), d.counts)
        try:
            vo.distributed.scan_csv({str(tmp_path / "csv")!r}, comm, separator=";", columns="nobody")
            raise AssertionError("no error")
        except vo.VolleyError as e:
            assert "nobody" in str(e)
        d.write_csv({str(tmp_path / "plain")!r})
        assert vo.distributed.scan_csv({str(tmp_path / "plain")!r}, comm).equals(d)
        d.write_ipc({str(tmp_path / "ipc")!r}, compression="lz4")
        assert vo.distributed.scan_ipc({str(tmp_path / "ipc")!r}, comm).equals(d)
        for wrong in (lambda: d.with_scalar(w=d), lambda: d.with_scalar(w=left), lambda: d.sort_values("v", na_position="middle"), lambda: d.group_by("nobody").len(), lambda: d.sort("nobody"), lambda: d.head(me), lambda: d.filter([True])):
            try:
                wrong()
                raise AssertionError("no error")
            except (vo.VolleyError, TypeError, ValueError):
                pass
        comm.barrier()
        """,
    )


def test_describe_of_every_kind(tmp_path: Path) -> None:
    """Floats with values that have rules of their own, decimals, dates, bools, texts, nulls, nulls alone; values on both ranks, and a rank without rows."""
    ranks(
        tmp_path,
        "shm",
        """
        import datetime as dt, math
        from decimal import Decimal
        rows = {
            "f": [math.nan, -0.0, 0.0, 1.5, None, -math.nan], "d": [Decimal("1.25"), None, Decimal("-3.50"), Decimal("1.25"), None, Decimal("0.00")],
            "t": [dt.date(2024, 1, 1), None, dt.date(2024, 1, 2), dt.date(2024, 1, 1), None, None], "b": [True, None, False, None, True, True],
            "s": ["a", "", None, "a", "\u00e9", None], "n": [None] * 5 + [me],
        }
        mine = vo.Table(rows)
        for d in (vo.distributed.Table(mine, comm), vo.distributed.Table(mine.head(6 * me), comm), vo.distributed.Table(mine, comm).shuffle("f")):
            made, want = d.describe(), d.replicate().local.describe()
            assert made.columns == want.columns and made.partitioning.scheme == "replicated"
            for x, y in zip(made.local.rows(), want.rows(), strict=True):
                for a, b in zip(x, y, strict=True):
                    assert a == b or math.isnan(a) and math.isnan(b) or math.isclose(a, b, rel_tol=1e-12), (x, y)
        """,
    )


def test_sets_of_tables() -> None:
    a, b = vo.Table({"x": [3, 1, None, 3], "y": ["c", "a", None, "c"]}), vo.Table({"y": ["c", None], "x": [3, None]})
    assert a.intersect(b).rows() == [(3, "c"), (None, None)] and a.subtract(b).rows() == [(1, "a")]
    assert a.lazy().subtract(b).collect().rows() == [(1, "a")]
    with pytest.raises(vo.Mismatch, match="x"):
        a.intersect(b.select("y"))
    assert a.with_row_index(offset=4)["index"].to_pylist() == [4, 5, 6, 7]
    with pytest.raises(vo.Mismatch, match="y"):
        a.with_row_index("y")


def test_the_operators_page_names_what_there_is() -> None:
    page = (Path(__file__).parents[2] / "docs" / "operators.md").read_text()
    named = re.findall(r"`vo((?:\.\w+)+)`", page)
    assert len(named) > 50
    for name in named:
        found: object = vo
        for part in name.strip(".").split("."):
            found = getattr(found, part)
    frames = page[page.index("Modin's algebra)") :]
    for name in re.findall(r"`([a-z_]+)`", frames):
        assert hasattr(vo.Table, name) and hasattr(vo.distributed.Table, name), name
