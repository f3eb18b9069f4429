"""Device memory through the protocols that have it, on CUDA: the emulated driver, or the machine's. Nothing is copied, which addresses prove."""

import ctypes
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import test_surface
import volley as vo
from test_comm import ranks
from volley import _capsule, _tensor
from volley._library import live

DEVICE = "cuda:0"


class Only:
    """Has one protocol of an object and no other."""

    def __init__(self, owner: object, *names: str) -> None:
        self.owner = owner
        for name in names:
            setattr(self, name, getattr(owner, name))


@pytest.fixture
def there() -> vo.Column:
    return vo.Column(list(range(1000))).to(DEVICE)


def address(c: vo.Column) -> int:
    data: int = c.__cuda_array_interface__["data"][0]
    return data


def test_cuda_array_interface(there: vo.Column) -> None:
    given = there.__cuda_array_interface__
    assert given["shape"] == (1000,) and given["typestr"] == "<i8" and given["version"] == 3 and given["data"][1] is True and given["data"][0] != 0
    assert address(there.slice(10)) == address(there) + 80
    back = vo.Column(Only(there, "__cuda_array_interface__"))
    assert address(back) == address(there) and back.device.name == DEVICE and back.to("cpu").to_pylist() == list(range(1000))
    assert not hasattr(vo.Column([1]), "__cuda_array_interface__") and not hasattr(vo.Column([1, None]).to(DEVICE), "__cuda_array_interface__")
    for name, value in (("strides", (16,)), ("shape", (10, 100)), ("typestr", "<c16"), ("mask", there)):
        wrong = Only(there)
        wrong.__cuda_array_interface__ = {**given, name: value}
        with pytest.raises(vo.Unsupported):
            vo.Column(wrong)
    null = Only(there)
    null.__cuda_array_interface__ = {**given, "data": (0, True)}
    with pytest.raises(vo.Mismatch):
        vo.Column(null)


def test_arrow_device_arrays(there: vo.Column) -> None:
    schema, capsule = there.__arrow_c_device_array__()
    a = _capsule.ArrowDeviceArray.from_address(_capsule.unwrap(capsule, b"arrow_device_array"))
    assert (a.device_type, a.device_id, a.sync_event, list(a.reserved)) == (2, 0, None, [0, 0, 0]) and a.array.buffers[1] == address(there)
    assert ctypes.sizeof(a) == 128
    back = vo.Column(Only(there, "__arrow_c_device_array__"))
    assert address(back) == address(there) and back.to("cpu").to_pylist() == list(range(1000))
    with pytest.raises(NotImplementedError, match="where"):
        there.__arrow_c_device_array__(where="there")
    assert there.__arrow_c_device_array__(where=None)
    here = vo.Column([1, None])
    assert vo.Column(Only(here, "__arrow_c_device_array__")).to_pylist() == [1, None]
    with pytest.raises(vo.Mismatch, match="arrow_device_array"):
        vo.Column(Pretender(*here._arrow_c_array()))


class Pretender:
    def __init__(self, *capsules: object) -> None:
        self.capsules = capsules

    def __arrow_c_device_array__(self, requested_schema: object = None, **options: object) -> tuple[object, ...]:
        return self.capsules


def test_arrow_device_streams() -> None:
    before = live()
    host = {"a": list(range(100)), "s": ["x", None] * 50, "f": [0.5] * 100}
    t = vo.Table(host, device=DEVICE)
    back = vo.Table(Only(t, "__arrow_c_device_stream__"))
    assert back.device.name == DEVICE and back.to_pydict() == host and address(back["a"]) == address(t["a"])
    assert vo.Table(Only(t, "__arrow_c_device_stream__"), device="cpu").device.name == "cpu"
    here = vo.Table(pa.table({"a": [1, 2]}), device="cpu")
    same = vo.Table(Only(here, "__arrow_c_device_stream__"))
    assert pa.table(same)["a"].chunk(0).buffers()[1].address == pa.table(here)["a"].chunk(0).buffers()[1].address
    assert back.filter("a >= 98").to_pydict()["a"] == [98, 99]
    del t, back, here, same
    assert live() <= before + 2


def test_tensors(there: vo.Column) -> None:
    assert there.__dlpack_device__() == (2, 0)
    for version in (None, (1, 1)):
        capsule = there.__dlpack__(max_version=version)
        t = _tensor.of(capsule)
        assert (t.data + t.byte_offset, t.device_type, t.device_id) == (address(there), 2, 0)
    for stream in (None, -1, 1, 2, 12345):
        assert there.__dlpack__(stream=stream) is not None
    with pytest.raises(ValueError, match="stream 0"):
        there.__dlpack__(stream=0)
    with pytest.raises(BufferError):
        there.__dlpack__(dl_device=(2, 1))
    with pytest.raises(BufferError):
        there.__dlpack__(dl_device=(1, 0), copy=False)
    assert np.from_dlpack(there, device="cpu").tolist() == list(range(1000))  # asked for, so copied
    back = vo.Column(Only(there, "__dlpack__", "__dlpack_device__"))
    assert address(back) == address(there) and back.to("cpu").to_pylist() == list(range(1000))
    m = vo.Matrix(np.arange(6.0).reshape(2, 3)).to(DEVICE)
    assert m.__dlpack_device__() == (2, 0) and vo.Matrix(m).to_numpy().tolist() == [[0, 1, 2], [3, 4, 5]]


def test_host_protocols_are_not_there(there: vo.Column) -> None:
    """Data of a device alone has no protocol of host memory; methods that say what they do copy it."""
    for name in ("__arrow_c_array__", "__array_interface__"):
        assert not hasattr(there, name)
    t = vo.Table({"a": there}, device=DEVICE)
    assert not hasattr(t, "__arrow_c_stream__") and not hasattr(vo.Matrix(np.ones((2, 2))).to(DEVICE), "__array_interface__")
    with pytest.raises(BufferError, match="cpu"):
        there.buffer()
    assert list(range(1000)) == there.to_arrow().to_pylist() == there.to_numpy().tolist()
    assert t.to_arrow()["a"].to_pylist() == t.to_pandas()["a"].tolist() == t.to_polars()["a"].to_list() == list(range(1000))
    assert there.to_pylist()[:2] == [0, 1] and "int64" in repr(there) and "rows" in t._repr_html_()
    with pytest.raises(vo.VolleyError):
        vo.Column([1]).to("cuda:77")


def test_loader_on_a_device() -> None:
    t = vo.Table({"x": np.arange(300, dtype=np.float32), "y": np.arange(300) % 7})
    with vo.Loader(t, 32, labels="y", shuffle=True, row_numbers=True, device=DEVICE, epochs=2, prefetch=3) as loader:
        assert loader.device == DEVICE and loader.place == (2, 0)
        with pytest.raises(vo.Unsupported, match="NumPy"):
            loader.numpy()
        seen: list[int] = []
        for _ in range(2):
            for batch in loader:
                assert batch.features.__dlpack_device__() == batch.labels.__dlpack_device__() == (2, 0) and batch.rows.__dlpack_device__() == (1, 0)
                rows = np.from_dlpack(batch.rows)
                with pytest.raises(ValueError, match="stream 0"):
                    batch.features.__dlpack__(stream=0)
                x, y = vo.Matrix(batch.features), vo.Matrix(batch.labels)
                assert (x.to("cpu").to_numpy()[:, 0] == rows).all() and (y.to("cpu").to_numpy()[:, 0] == rows % 7).all()
                seen += rows.tolist()
        assert sorted(set(seen)) == list(range(300)) and len(seen) >= 600
        with pytest.raises(BufferError):
            batch.rows.__dlpack__(stream=1)


def test_loader_of_a_table_on_a_device() -> None:
    """Every order, encodings, windows and functions of batches: what a table on a device gives is what it gives on the host."""
    rows = 300
    near = vo.Table({"x": np.arange(rows, dtype=np.float32), "n": [("b", "a", "")[i * i % 3] for i in range(rows)], "w": np.arange(rows) % 5, "g": np.arange(rows) // 40})
    there = near.to(DEVICE)
    assert there.device.name == DEVICE
    half = vo.BatchMap(lambda batch: batch.select(half=vo.col("x") / 2, n="n"), "half")
    ways: list[dict[str, Any]] = [
        {}, {"shuffle": True}, {"weights": "w", "draws": 100}, {"stratify": "n"}, {"group": "g"}, {"one_hot": ["n"], "features": ["n", "x"]},
        {"derive": {"z": "x * 2 + w"}, "features": ["z", "x"]}, {"map_batches": half, "features": ["half"], "shuffle": True},
        {"history": 3, "horizon": 1, "entity": "g", "labels": "w"},
    ]  # fmt: skip
    for more in ways:
        more = {"features": ["x"], "seed": 3, "row_numbers": True, "epochs": 1, **more}
        with vo.Loader(near, 32, **more) as one, vo.Loader(there, 32, **more) as other:
            assert one.state_dict() == other.state_dict()
            for a, b in zip(one.numpy(), other.numpy(), strict=True):
                assert all(np.array_equal(p, q) for p, q in zip(a, b, strict=True)), more


def test_pinned_memory_is_there() -> None:
    t = vo.Table({"x": np.arange(300, dtype=np.float32)})
    with vo.Loader(t, 32, pin_memory=True) as loader:
        assert loader.numpy().next()[7, 0] == 7


def test_queries_over_files_run_where_they_are_told(tmp_path: Any) -> None:
    file = tmp_path / "a.parquet"
    vo.Table({"a": [1, 2, 3]}, device="cpu").write_parquet(file)
    q = vo.scan_parquet(file)
    assert q.on(DEVICE).filter("a > 1").collect().device.name == DEVICE and q.on(DEVICE).on("cpu").collect().device.name == "cpu"
    assert vo.scan_parquet(file, device="cpu").on(DEVICE).collect().device.name == DEVICE
    near = vo.Table({"a": [2]}, device="cpu")
    assert q.join(near, on="a").collect().device.name == "cpu", "a table says where, before the best device is taken"
    for wrong in (lambda: near.lazy().on(DEVICE), lambda: q.on(DEVICE).join(near, on="a"), lambda: q.union(near).on(DEVICE)):
        with pytest.raises(vo.Mismatch, match=r'\.to\("' + DEVICE):
            wrong()


def test_numpy_reads_nothing_there_unasked(there: vo.Column) -> None:
    t = there.to_frame("a")
    m = vo.Matrix(np.ones((2, 2))).to(DEVICE)
    for x in (there, t, m):
        with pytest.raises(TypeError, match=rf'on {DEVICE}.*\.to\("cpu"\)'):
            np.asarray(x)
    assert there.to_numpy().tolist() == list(range(1000)) and t.to_numpy().shape == (1000, 1) and m.to_numpy().sum() == 4


def test_masks_and_pickles_of_tables_there(there: vo.Column) -> None:
    t = there.to_frame("a")
    for mask in (np.arange(1000) < 3, vo.Column([i < 3 for i in range(1000)]), there < 3):
        kept = t.filter(mask)
        assert kept.device.name == DEVICE and kept.to_pydict() == {"a": [0, 1, 2]}
    for x in (t, there):
        back = pickle.loads(pickle.dumps(x))
        assert back.device.name == DEVICE and np.array_equal(back.to_numpy().ravel(), np.arange(1000))


@pytest.mark.parametrize("what", ["wrong", "after_close", "together"])
def test_every_call_of_objects_there(what: str, tmp_path: Path) -> None:
    found = test_surface.run(what, tmp_path, DEVICE)
    assert not found, found[:5000]


THREADS = """
import sys, threading
import volley

failed = []
def run(rank):
    try:
        address, device = sys.argv[1], f"cuda:{rank}"
        with volley.Comm(address, rank, 2, transport="nccl", device=device) as direct, volley.Comm(address + "-2", rank, 2) as comm:
            assert direct.transport.endswith("+nccl") and not comm.transport.endswith("+nccl")
            own = volley.Column([rank, 5, 7]).to(device)
            assert direct.allreduce(own).to("cpu").to_pylist() == [1, 10, 14]
            assert direct.allgather(own).to("cpu").to_pylist() == [0, 5, 7, 1, 5, 7]
            assert direct.alltoall(own, counts=[1, 2]).to("cpu").to_pylist() == ([0, 1] if rank == 0 else [5, 7, 5, 7])
            assert direct.explain("allreduce", 3, "int64", device=device).splitlines()[-1] == f"sum of int64: on {device}, by NCCL"
            comm.use_nccl(device)
            assert comm.allreduce(own, op="max").to("cpu").to_pylist() == [1, 5, 7]
            try:
                comm.use_nccl(device)
            except volley.Mismatch as e:
                assert "in use already" in str(e) and f"rank {rank}: " in str(e)
            else:
                raise AssertionError("NCCL twice")
            direct.barrier()
            comm.barrier()
    except BaseException as e:
        failed.append(e)
        raise
threads = [threading.Thread(target=run, args=(r,)) for r in range(2)]
for t in threads:
    t.start()
for t in threads:
    t.join()
sys.exit(len(failed))
"""


def test_nccl_carries(tmp_path: Path) -> None:
    """Two ranks have a GPU of the emulated driver each and the emulated NCCL, which are one process's; ranks that share a GPU are refused."""
    if "CUEMU_KERNELS" in os.environ:
        root = Path(__file__).parents[2]
        command = ["go", "run", "./internal/ncclemu/build"]
        built = subprocess.run(command, cwd=root, env={**os.environ, "CGO_ENABLED": "0"}, check=True, stdout=subprocess.PIPE, text=True)
        env = {**os.environ, "VOLLEY_NCCL_LIBRARY": built.stdout.strip(), "CUEMU_DEVICES": "2"}
        ran = subprocess.run([sys.executable, "-c", THREADS, f"file://{tmp_path}/meeting"], env=env, timeout=120, stderr=subprocess.PIPE, text=True)
        assert ran.returncode == 0, ran.stderr
        return
    body = """
        try:
            comm.use_nccl("cuda:0")
        except volley.Unavailable as e:
            assert "rank 0: " in str(e)
        else:
            raise AssertionError("two ranks on one GPU")
        """
    for p in ranks(tmp_path, body):
        assert p.returncode == 0, p.stderr


def test_nccl_without_a_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOLLEY_NCCL_LIBRARY", str(tmp_path / "libnccl.so.2"))
    body = """
        for wanted in lambda: comm.use_nccl("cuda:0"), lambda: volley.Comm(address + "-2", rank, 2, transport="nccl", device="cuda:0"):
            try:
                wanted()
            except volley.Unavailable as e:
                assert "rank 0: " in str(e) and "rank 1: " in str(e) and "libnccl.so.2" in str(e), str(e)
            else:
                raise AssertionError("there is no NCCL")
        own = volley.Column([rank, 5]).to("cuda:0")
        assert comm.allreduce(own).to("cpu").to_pylist() == [1, 10]
        """
    for p in ranks(tmp_path, body):
        assert p.returncode == 0, p.stderr


def test_what_a_device_lacks_is_named() -> None:
    """The operator, the column and its type, in the words of the query."""
    q = vo.Table({"s": ["1"], "n": [1]}).to(DEVICE).lazy()
    for e, said in ((vo.col("s").cast("int64"), 'cast of column "s" of type utf8 to int64'), (vo.col("n").cast("utf8"), 'cast of column "n" of type int64 to utf8')):
        with pytest.raises(vo.Unsupported, match=f"select: .*: {said} is not there on {DEVICE}; cpu has it"):
            q.select(x=e).collect()
    lists = vo.Table(pa.table({"l": [[1], [2]]}))
    with pytest.raises(vo.Unsupported, match='distinct: .*column "l" of type list is no key'):
        lists.lazy().unique().collect()


def test_random_plans_on_the_device() -> None:
    """Whole queries beside DuckDB's answers: tests/random_plans.py makes them. OpenCL's are run by scripts/python.sh."""
    environment = {**os.environ, "RANDOM_PLANS_DEVICE": DEVICE, "VOLLEY_MORSEL_ROWS": "16"}
    program = Path(test_surface.__file__).with_name("random_plans.py")
    run = subprocess.run([sys.executable, str(program), "40000", "40"], env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0 and "40 plans" in run.stdout, run.stdout[-3000:] + run.stderr[-3000:]
