"""Writes the files of pyarrow that the tests read: python write_pyarrow.py

Made with pyarrow 26.0.1. Each shows what its writer does and ours does not.
"""

import datetime as dt
import decimal
import os
import uuid

os.chdir(os.path.dirname(os.path.abspath(__file__)))

import pyarrow as pa  # noqa: E402
import pyarrow.feather  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402


def zones() -> None:
    """Timestamps whose unit in the file is not the one of the Arrow schema beside it."""
    seconds = [0, 1_600_000_000, None, -1]
    columns = {}
    for unit, scale in {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}.items():
        values = [None if v is None else v * scale for v in seconds]
        columns[f"berlin_{unit}"] = pa.array(values, pa.timestamp(unit, "Europe/Berlin"))
        columns[f"utc_{unit}"] = pa.array(values, pa.timestamp(unit, "UTC"))
        columns[f"none_{unit}"] = pa.array(values, pa.timestamp(unit))
        columns[f"list_{unit}"] = pa.array([[v] for v in values], pa.list_(pa.timestamp(unit, "Asia/Tokyo")))
    table = pa.table(columns)
    for version in ("1.0", "2.4", "2.6"):
        pq.write_table(table, f"zones-{version}.parquet", version=version)
    for unit in ("ms", "us"):
        pq.write_table(table, f"zones-{unit}.parquet", coerce_timestamps=unit)


def categories() -> None:
    """Three files of 100 categories each, 300 in all, with indices of 8 bits."""
    for k, name in enumerate("abc"):
        words = [f"word {100 * k + i}" for i in range(100)]
        indices = pa.array([*range(100), None], pa.uint8() if name == "b" else pa.int8())
        table = pa.table({"word": pa.DictionaryArray.from_arrays(indices, pa.array(words))})
        pa.feather.write_feather(table, f"categories-{name}.arrow", compression="uncompressed")
        pq.write_table(table, f"categories-{name}.parquet")
    table = pa.table({"word": pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["a", "b"]))})
    with pa.ipc.new_stream("categories.arrows", table.schema) as out:
        for k in range(3):
            words = [f"word {100 * k + i}" for i in range(100)]
            out.write(pa.record_batch({"word": pa.DictionaryArray.from_arrays(pa.array(range(100), pa.int8()), pa.array(words))}))


def int96() -> None:
    """Timestamps of 96 bits, as Spark writes them, within and outside of what 64 bits of nanoseconds reach."""
    near = [dt.datetime(2001, 2, 3, 4, 5, 6, 789_012), None, dt.datetime(1969, 12, 31, 23, 59, 59)]
    far = [*near, dt.datetime(9999, 12, 31, 23, 59, 59, 999_999), dt.datetime(1, 1, 1)]
    for name, values in {"near": near, "far": far}.items():
        table = pa.table({"when": pa.array(values, pa.timestamp("us")), "id": range(len(values))})
        for dictionary in (False, True):
            pq.write_table(table, f"int96-{name}{'-dictionary' if dictionary else ''}.parquet", use_deprecated_int96_timestamps=True,
                           store_schema=False, use_dictionary=dictionary)  # fmt: skip


def delta() -> None:
    """Decimals, UUIDs, fixed bytes and durations in pages of DELTA encodings."""
    rows = 300
    numbers = [None if i % 7 == 3 else i * i - 1000 for i in range(rows)]
    columns = {
        "decimal": pa.array([None if v is None else decimal.Decimal(v).scaleb(-2) for v in numbers], pa.decimal128(30, 2)),
        "uuid": pa.array([None if v is None else uuid.UUID(int=v + 1000).bytes for v in numbers], pa.binary(16)),
        "bytes": pa.array([None if v is None else f"{v:6}".encode()[:6] for v in numbers], pa.binary(6)),
        "text": pa.array([None if v is None else f"text {v}" for v in numbers]),
        "duration": pa.array(numbers, pa.duration("us")),
        "number": pa.array(numbers, pa.int64()),
        "short": pa.array([None if v is None else v % 100 for v in numbers], pa.int8()),
        "when": pa.array(numbers, pa.timestamp("us", "Europe/Berlin")),
    }
    encodings = {name: "DELTA_BYTE_ARRAY" for name in ("decimal", "uuid", "bytes", "text")} | {
        name: "DELTA_BINARY_PACKED" for name in ("duration", "number", "short", "when")
    }
    table = pa.table(columns)
    for version in ("1.0", "2.0"):
        pq.write_table(table, f"delta-{version}.parquet", use_dictionary=False, column_encoding=encodings, data_page_version=version, data_page_size=1000)
    pq.write_table(table.select(["text", "number"]), "delta-lengths.parquet", use_dictionary=False,
                   column_encoding={"text": "DELTA_LENGTH_BYTE_ARRAY", "number": "DELTA_BINARY_PACKED"})  # fmt: skip
    floats = pa.table({"float": pa.array([None if v is None else v / 8 for v in numbers], pa.float32()),
                       "double": pa.array([None if v is None else v / 8 for v in numbers], pa.float64()),
                       "int": pa.array(numbers, pa.int32())})  # fmt: skip
    pq.write_table(floats, "split.parquet", use_dictionary=False, column_encoding={name: "BYTE_STREAM_SPLIT" for name in floats.column_names})


def lists() -> None:
    """Lists of dictionaries, with a row group in which no list has a value."""
    kind = pa.list_(pa.dictionary(pa.int8(), pa.string()))
    values = [["a", "b"], None, [], [None], None, [], ["c"], ["a"]]
    table = pa.table({"list": pa.array(values, pa.list_(pa.string())).cast(kind), "id": range(len(values))})
    pq.write_table(table, "lists-dictionary.parquet", row_group_size=2)
    pq.write_table(table.slice(4, 2), "lists-empty.parquet")


def structs() -> None:
    """A struct beside another column."""
    pq.write_table(pa.table({"id": range(20), "pair": [{"a": i, "b": str(i)} for i in range(20)]}), "structs.parquet")


def hive() -> None:
    """A folder in parts, as Spark, pandas and DuckDB write them."""
    table = pa.table({"year": [2001, 2001, 2002, 2002], "city": ["Rome", "São Paulo/Sé", "Rome", None], "v": [1, 2, 3, 4]})
    pq.write_to_dataset(table, "hive", partition_cols=["year", "city"], basename_template="part-{i}.parquet", existing_data_behavior="delete_matching")


if __name__ == "__main__":
    for write in (zones, categories, int96, delta, lists, structs, hive):
        write()
