"""Random tables of every type that volley has, as pyarrow's."""

import random

import pyarrow as pa

PLAIN = [
    pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.float32(), pa.float64(), pa.bool_(),
    pa.string(), pa.large_string(), pa.binary(), pa.date32(), pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.timestamp("s"), pa.duration("ms"),
]  # fmt: skip
FURTHER = [
    pa.float16(), pa.large_binary(), pa.date64(), pa.time32("s"), pa.time64("us"), pa.decimal128(30, 3), pa.decimal128(5, -1), pa.null(), pa.string_view(),
    pa.binary(3), pa.timestamp("ms", "Europe/Berlin"),
]  # fmt: skip
DICTIONARIES = [pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.uint16(), pa.large_string())]
NESTED = [
    pa.list_(pa.int32()), pa.large_list(pa.string()), pa.list_(pa.list_(pa.string())), pa.struct([("x", pa.int8()), ("y", pa.string())]), pa.struct([]),
    pa.list_(pa.int16(), 2), pa.list_(pa.list_(pa.string_view(), 1), 2),
    pa.list_(pa.struct([("a", pa.list_(pa.bool_())), ("d", pa.date32())])), pa.struct([("in", pa.struct([("z", pa.float64())]))]),
]  # fmt: skip
EVERY = PLAIN + FURTHER + DICTIONARIES + NESTED


def value(r: random.Random, t: pa.DataType, nulls: float) -> object:
    if r.random() < nulls or pa.types.is_null(t):
        return None
    if pa.types.is_struct(t):
        return {f.name: value(r, f.type, nulls) for f in t}
    if pa.types.is_fixed_size_list(t):
        return [value(r, t.value_type, nulls) for _ in range(t.list_size)]
    if pa.types.is_nested(t):
        return [value(r, t.value_type, nulls) for _ in range(r.randrange(4))]
    if pa.types.is_boolean(t):
        return r.random() < 0.5
    if pa.types.is_string(t) or pa.types.is_large_string(t) or t == pa.string_view():
        return "".join(r.choice("aéz€") for _ in range(r.randrange(20)))
    if pa.types.is_fixed_size_binary(t):
        return r.randbytes(t.byte_width)
    if pa.types.is_binary(t) or pa.types.is_large_binary(t):
        return r.randbytes(r.randrange(5))
    if pa.types.is_floating(t):
        return r.randrange(-64, 64) / 4  # exact in 16 bits
    if pa.types.is_decimal(t):
        return pa.scalar(r.randrange(100) * 10, pa.int64()).cast(pa.decimal128(19, 0)).cast(t).as_py()
    if pa.types.is_integer(t):
        low = 0 if pa.types.is_unsigned_integer(t) else -(2 ** (t.bit_width - 1))
        return r.randrange(low, low + 2**t.bit_width)
    number = r.randrange(10_000)
    scale = 86_400_000 if t == pa.date64() else 1000 if getattr(t, "unit", "") == "ns" else 1  # Python's moments have no nanoseconds
    return pa.scalar(number * scale, pa.int32() if t.bit_width == 32 else pa.int64()).cast(t).as_py()


def column(r: random.Random, t: pa.DataType, rows: int, nulls: float) -> pa.Array:
    if pa.types.is_dictionary(t):
        words = pa.array(["red", "green", "blue"], t.value_type)
        indices = [None if r.random() < nulls else r.randrange(3) for _ in range(rows)]
        return pa.DictionaryArray.from_arrays(pa.array(indices, t.index_type), words)
    return pa.array([value(r, t, nulls) for _ in range(rows)], t)


def table(r: random.Random, types: list[pa.DataType], nulls: tuple[float, ...] = (0, 0.3, 1), chunks: bool = True) -> pa.Table:
    """A table of one to four columns of the types, of few rows or none, whole, a slice, or of two slices as two chunks."""
    rows, share = r.choice([0, 1, 2, 7, 8, 9, 31, 65]), r.choice(nulls)
    whole = pa.table({f"c{i}": column(r, r.choice(types), rows, share) for i in range(r.randrange(1, 5))})

    def part() -> pa.Table:
        start = r.randrange(rows + 1)
        return whole.slice(start, r.randrange(rows + 1 - start))

    kind = r.randrange(3)
    return whole if kind == 0 else part() if kind == 1 or not chunks else pa.concat_tables([part(), part()])
