"""The sets of data that loaders race on, written once as a matrix of float32, an Arrow file of one record batch and a Parquet file."""

import os

SLAB = 1 << 17  # rows that are turned into rows of the matrix at a time


def numbers_of(path):
    """The columns of numbers of a file or a folder of files, Parquet, CSV or Arrow IPC by the ending; rows with a null in one of them are left out."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    files = [path] if os.path.isfile(path) else sorted(os.path.join(path, name) for name in os.listdir(path) if not name.startswith((".", "_")))
    endings = {os.path.splitext(name)[1].lower() for name in files if os.path.isfile(name)} & {".parquet", ".csv", ".arrow", ".feather", ".ipc"}
    if len(endings) != 1:
        raise ValueError(f"{path}: it should be a file, or a folder of files, that ends in .parquet, .csv, .arrow, .feather or .ipc, and is of {sorted(endings) or 'none'}")
    ending = endings.pop()
    chosen = [name for name in files if name.lower().endswith(ending)]
    table = ds.dataset(chosen, format={".parquet": "parquet", ".csv": "csv"}.get(ending, "ipc")).to_table()
    kinds = (pa.types.is_integer, pa.types.is_float32, pa.types.is_float64, pa.types.is_boolean, pa.types.is_temporal)
    names = [f.name for f in table.schema if any(is_(f.type) for is_ in kinds) and not pa.types.is_interval(f.type)]
    if not names:
        raise ValueError(f"{path} has no column of numbers")
    return table.select(names).drop_null()


def flights_of(folder):
    """Flights joined with the places of their airports: times, whole numbers of 64, 32 and 8 bits, floats and bools; airports by number, as they are sorted."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv
    import pyarrow.parquet as pq

    t = pq.read_table(os.path.join(folder, "flights-1m.parquet"))
    airports = pa.csv.read_csv(os.path.join(folder, "airports.csv")).select(["iata", "latitude", "longitude"]).sort_by("iata").combine_chunks()
    codes = {end: pc.index_in(t[end].cast(pa.string()), airports["iata"]).combine_chunks() for end in ("origin", "destination")}
    places = {f"{end}_{axis}": airports[axis].take(at) for end, at in codes.items() for axis in ("latitude", "longitude")}
    return pa.table({
        "date": t["date"], "hour": pc.hour(t["date"]).cast(pa.int8()), "weekday": pc.day_of_week(t["date"]).cast(pa.int8()), "distance": t["distance"],
        **codes, **places, "late": pc.greater(t["delay"], 15), "delay": t["delay"],
    })  # fmt: skip


def plain(column):
    """A column of times as the whole numbers that it is held as."""
    import pyarrow as pa

    if not pa.types.is_temporal(column.type):
        return column
    return column.cast(pa.int32() if column.type.bit_width == 32 else pa.int64())


def made(rows, columns):
    import numpy as np
    import pyarrow as pa

    i = np.arange(rows, dtype=np.int32)
    all = [i.astype(np.float32)] + [((i % 1009 * 31 + k * 7) % 1009).astype(np.float32) for k in range(1, columns)]
    return pa.table({f"c{k}": v for k, v in enumerate(all)})


def make(c):
    """Row i has i in its first column, by which rows are told apart: below 2**24, float32 holds it."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    if c.get("flights") or c.get("data"):
        t = flights_of(c["flights"]) if c.get("flights") else numbers_of(c["data"])
        if not 0 < t.num_rows < 1 << 24:
            raise ValueError(f"{c.get('flights') or c['data']} has {t.num_rows} rows without nulls: from 1 to 16777215 are told apart")
        t = t.add_column(0, "row", pa.array(np.arange(t.num_rows, dtype=np.int64)))
    else:
        t = made(c["rows"], c["columns"])
    t = t.combine_chunks()
    path = os.path.join(c["folder"], "table.arrow")
    with pa.OSFile(path, "wb") as f, pa.ipc.new_file(f, t.schema) as w:
        w.write_table(t, max_chunksize=t.num_rows)
    t = pa.ipc.open_file(pa.memory_map(path)).read_all()  # which is not in this process twice
    pq.write_table(t, os.path.join(c["folder"], "table.parquet"), compression="zstd", row_group_size=1 << 17)
    with open(os.path.join(c["folder"], "rows.npy"), "wb") as f:
        np.lib.format.write_array_header_1_0(f, {"descr": "<f4", "fortran_order": False, "shape": (t.num_rows, t.num_columns)})
        for at in range(0, t.num_rows, SLAB):
            np.stack([plain(column).to_numpy().astype(np.float32) for column in t.slice(at, SLAB).columns], 1).tofile(f)
    return {"rows": t.num_rows, "columns": t.num_columns}
