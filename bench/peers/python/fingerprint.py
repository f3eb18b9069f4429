"""What two results that are equal have in common, whatever the order of their rows; the same as fingerprint.go.

Columns are exact (integers, truths, strings, floats that were only moved) or approx (computed floats). All exact columns of a row make one
number, its hash. The answer has

    rows      how many there are
    multiset  the sum of the hashes
    ordered   the sum of the hashes of the first `order` exact columns, each mixed with the row's place
    approx    per approximate column its sum weighted by the rows' hashes, weighted by their places, and of absolute values
    bytes     the size of the values as fixed-width numbers, and strings with 4 bytes of offset
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

SEED = np.uint64(0x9E3779B97F4A7C15)
NULL = np.uint64(0xA5A5A5A5DEADBEEF)


def mix(x):
    """The finaliser of MurmurHash3, in place."""
    x ^= x >> np.uint64(33)
    x *= np.uint64(0xFF51AFD7ED558CCD)
    x ^= x >> np.uint64(33)
    x *= np.uint64(0xC4CEB9FE1A85EC53)
    x ^= x >> np.uint64(33)
    return x


def weight(h):
    """A hash as a number in [0, 1)."""
    return (mix(h + SEED) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def plain(column):
    """The column in one of the types int64, float64, large_string."""
    t = column.type
    if pa.types.is_dictionary(t):
        column, t = pc.cast(column, t.value_type), t.value_type
    if pa.types.is_boolean(t):
        column = pc.cast(column, pa.uint8())
        t = column.type
    if pa.types.is_integer(t) or pa.types.is_decimal(t):
        return pc.cast(column, pa.int64())
    if pa.types.is_floating(t):
        return pc.cast(column, pa.float64())
    if pa.types.is_large_string(t) or pa.types.is_string(t) or pa.types.is_string_view(t):
        return pc.cast(column, pa.large_string())
    raise TypeError(f"a result of type {t}")


def strings(a):
    """The hashes of strings: of the length, then of each word of eight bytes, filled up with zeros."""
    offsets = np.frombuffer(a.buffers()[1], np.int64)[a.offset : a.offset + len(a) + 1]
    data = np.frombuffer(a.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    data = np.concatenate([data, np.zeros(8, np.uint8)])
    start, length = offsets[:-1] - offsets[0], np.diff(offsets)
    h = mix(length.astype(np.uint64))
    at = np.arange(8)
    for begin in range(0, int(length.max(initial=0)), 8):
        left = np.clip(length - begin, 0, 8)
        i = np.minimum(start[:, None] + begin + at, len(data) - 8 + at)
        word = np.where(at < left[:, None], data[i], 0).astype(np.uint8).view("<u8")[:, 0]
        h = np.where(left > 0, mix(h ^ word), h)
    return h


def values(a, exact):
    """One column of a batch: bits where it is exact, else floats; null is a bit pattern or 0."""
    valid = None
    if a.null_count:
        valid = a.is_valid().to_numpy(zero_copy_only=False)
        a = pc.fill_null(a, "" if pa.types.is_large_string(a.type) else pa.scalar(0, a.type))
    if pa.types.is_large_string(a.type):
        bits = strings(a)
    elif exact:
        bits = a.to_numpy(zero_copy_only=False).view(np.uint64)
    else:
        return a.to_numpy(zero_copy_only=False).astype(np.float64)
    return bits if valid is None else np.where(valid, bits, NULL)


def of(table, columns, order):
    """The fingerprint of a table whose columns are "exact" or "approx"."""
    if table.num_columns != len(columns):
        raise ValueError(f"a result of {table.num_columns} columns, not {len(columns)}")
    arrays = [plain(c) for c in table.columns]
    names = [str(i) for i in range(len(arrays))]
    table = pa.table(arrays, names=names)
    multiset = ordered = np.uint64(0)
    approx = [[0.0, 0.0, 0.0] for c in columns if c == "approx"]
    size = row = 0
    with np.errstate(over="ignore"):
        for batch in table.to_batches(max_chunksize=1 << 15):
            n = batch.num_rows
            place = mix(np.arange(row, row + n, dtype=np.uint64) + SEED)
            row += n
            h, first, seen, floats = np.full(n, SEED), np.full(n, SEED), 0, []
            for a, kind in zip(batch.columns, columns):
                size += bytes_of(a)
                v = values(a, kind == "exact")
                if kind == "approx":
                    floats.append(v)
                    continue
                h = mix(h * np.uint64(31) ^ v)
                if seen < order:
                    first = h.copy()
                seen += 1
            multiset += h.sum()
            ordered += mix(first + place).sum()
            w = weight(h)
            p = weight(place)
            for i, v in enumerate(floats):
                approx[i][0] += float((w * v).sum())
                approx[i][1] += float((p * v).sum())
                approx[i][2] += float(np.abs(v).sum())
    return {"rows": row, "multiset": str(int(multiset)), "ordered": str(int(ordered)), "approx": approx, "bytes": size}


def bytes_of(a):
    """The bytes that values take: validity is a bit a row where there are nulls."""
    n = len(a)
    size = (n + 7) // 8 if a.null_count else 0
    if pa.types.is_large_string(a.type):
        offsets = np.frombuffer(a.buffers()[1], np.int64)[a.offset : a.offset + n + 1]
        return size + 4 * n + int(offsets[-1] - offsets[0])
    return size + 8 * n
