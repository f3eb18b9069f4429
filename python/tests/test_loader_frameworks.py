"""Batches in PyTorch, JAX, TensorFlow and Keras: the tensors lie in the loader's ring, by their addresses."""

import ctypes
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import volley as vo
import volley.loader
import volley.loader_parts
from volley import _capsule
from volley._library import live

RING = 3


def loader(rows: int = 1000, **more: Any) -> vo.Loader:
    t = vo.Table({"a": np.arange(rows, dtype=np.float32), "b": np.ones(rows, np.float32), "y": np.arange(rows) % 2})
    return vo.Loader(t, 100, labels="y", shuffle=True, seed=7, prefetch=RING, row_numbers=True, **more)


class Managed(ctypes.Structure):
    """The beginning of DLPack's managed tensor."""

    _fields_ = (("data", ctypes.c_void_p),)


class Versioned(ctypes.Structure):
    """The beginning of DLPack's versioned managed tensor."""

    _fields_ = (("head", ctypes.c_int64 * 4), ("data", ctypes.c_void_p))


@pytest.fixture
def lent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Where the tensors lie that were handed out, in the order of that."""
    addresses = []
    plain = vo.loader.BatchTensor._exported

    def exported(self: Any, name: str) -> int:
        where = plain(self, name)
        addresses.append((Versioned if name.endswith("versioned") else Managed).from_address(where).data)
        return where

    together = volley._tensor.all_handed

    def all_handed(given: Any, take: Any) -> list[Any]:
        addresses.extend(Managed.from_address(where).data for where in given)
        return together(given, take)

    monkeypatch.setattr(vo.loader.BatchTensor, "_exported", exported)
    monkeypatch.setattr(volley._tensor, "all_handed", all_handed)
    return addresses


@pytest.mark.parametrize("refused", range(3))
def test_parts_that_are_had_at_once_come_back(refused: int) -> None:
    """Where a framework refuses one of a batch's tensors, those that it has not seen go too."""

    def takes(capsule: Any) -> Any:
        if len(kept) == refused:
            raise ZeroDivisionError
        where = _capsule.pointer(capsule, b"dltensor")
        _capsule.rename(capsule, b"used_dltensor")
        kept.append(where)
        return where

    kept: list[int] = []
    before, made = live(), loader()
    parts = volley.loader_parts.Parts(made, takes)
    for _ in range(2 * RING):
        with pytest.raises(ZeroDivisionError):
            parts.next()
        volley._tensor.delete(kept)
        kept.clear()
    made.close()
    assert live() <= before + 1


@pytest.mark.parametrize("more", [{}, {"masks": True}, {"layout": "columns"}, {"layout": "columns", "masks": True}])
def test_parts_at_once_are_those_one_by_one(more: dict[str, Any]) -> None:
    """In the same places of tuples and dicts, epoch after epoch, the last batches of which are short."""
    pytest.importorskip("torch", reason="no python3-torch: python.sh says why")
    with loader(rows=250, **more) as one, loader(rows=250, **more) as other:
        assert isinstance(one.torch()._batches._parts, volley.loader_parts.Parts)
        for _ in range(2):
            count = 0
            for x, y in zip(one.torch(), other, strict=True):
                plain = y.parts(vo.loader._numpy(other))
                assert len(x) == len(plain)
                for a, b in zip(x, plain):
                    if isinstance(a, dict):
                        assert list(a) == list(b)
                        a, b = list(a.values()), list(b.values())
                    else:
                        a, b = [a], [b]
                    assert all(m.tolist() == n.tolist() for m, n in zip(a, b))
                count += 1
                del x, y, a, b, plain
            assert count == 3


def test_a_tensor_that_is_not_taken_comes_back() -> None:
    def refuses(capsule: Any) -> Any:
        raise ZeroDivisionError

    def takes_and_fails(capsule: Any) -> Any:
        where = _capsule.unwrap(capsule, b"dltensor")
        _capsule.rename(capsule, b"used_dltensor")
        taken.append(where)
        raise KeyError

    taken: list[int] = []
    before, made = live(), loader()
    for _ in range(2 * RING):
        b = made.next()
        assert b is not None
        with pytest.raises(ZeroDivisionError):
            b.features.handed(refuses)
        with pytest.raises(vo.Closed, match="handed out before"):
            b.features.handed(refuses)
        b.close()
        with pytest.raises(vo.Closed, match="this Batch was closed"):
            b.labels.handed(refuses)
    b = made.next()
    assert b is not None
    with pytest.raises(KeyError):
        b.features.handed(takes_and_fails)
    b.close()
    made.close()
    assert live() == before + 2  # the table, and the tensor: who took it has it
    vo._tensor._Deleter(vo._tensor.Managed.from_address(taken[0]).deleter)(taken[0])
    assert live() == before + 1


def test_torch_is_the_rings_memory(lent: list[int]) -> None:
    torch = pytest.importorskip("torch", reason="no python3-torch: python.sh says why")
    seen: list[int] = []
    for x, y, rows in loader().torch():
        assert lent[-3:] == [x.data_ptr(), y.data_ptr(), rows.data_ptr()] and x.is_contiguous() and x.dtype == torch.float32 and tuple(x.shape) == (100, 2)
        assert torch.equal(x[:, 0], rows.to(torch.float32)) and torch.equal(y[:, 0], (rows % 2).to(torch.float32))
        x.mul_(2)  # the batch's own memory
        seen += rows.tolist()
    assert sorted(seen) == list(range(1000))


def test_torch_dataloader_shapes(lent: list[int]) -> None:
    torch = pytest.importorskip("torch", reason="no python3-torch: python.sh says why")
    from torch.utils.data import DataLoader, IterableDataset

    batches = loader().torch()
    assert isinstance(batches, IterableDataset) and len(batches) == 10 and batches.batch_size == 100 and batches.num_workers == 0
    order = [rows.tolist() for _, _, rows in batches]
    batches.sampler.set_epoch(0)
    again = DataLoader(batches, batch_size=None)
    for (x, _, rows), want in zip(again, order):
        assert rows.tolist() == want
        assert x.data_ptr() == lent[-3]  # DataLoader hands the tensors on
    batches.set_epoch(0)
    for i, _ in enumerate(batches):
        if i == 3:
            break
    state = batches.state_dict()
    other = loader().torch()
    other.load_state_dict(state)
    assert [rows.tolist() for _, _, rows in other] == order[4:]
    for name in vars(DataLoader(range(2))):  # what a trainer may look at
        if not name.startswith("_") and name not in ("pin_memory_device", "in_order"):
            assert hasattr(batches, name), name
    assert loader(pin_memory=False).torch().pin_memory is False
    for more in ({}, {"multiprocessing_context": "spawn"}):
        with pytest.raises((TypeError, vo.Unsupported), match="num_workers=0"):
            list(DataLoader(loader().torch(), batch_size=None, num_workers=1, timeout=60, **more))  # type: ignore[arg-type]
    doubled = loader().torch(lambda x, y, rows: (torch.stack([x, x]), y))
    assert next(iter(doubled))[0].shape == (2, 100, 2)


def test_torch_trains() -> None:
    torch = pytest.importorskip("torch", reason="no python3-torch: python.sh says why")
    x = np.random.default_rng(1).normal(size=(2000, 3)).astype(np.float32)
    t = vo.Table({"a": x[:, 0].copy(), "b": x[:, 1].copy(), "c": x[:, 2].copy(), "y": x @ np.array([1, -2, 3], np.float32)})
    model = torch.nn.Linear(3, 1)
    step = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = vo.Loader(t, 100, labels="y", shuffle=True).torch()
    for _ in range(10):
        for x, y in batches:
            step.zero_grad()
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            step.step()
    assert loss.item() < 1e-4


def test_jax_is_the_rings_memory(lent: list[int]) -> None:
    import jax

    seen: list[int] = []
    for x, y, rows in loader(rows=1000).jax():
        assert isinstance(x, jax.Array) and x.shape == (100, 2) and y.dtype == np.float32
        assert lent[-3:-1] == [x.unsafe_buffer_pointer(), y.unsafe_buffer_pointer()]  # the numbers of rows are int32 in JAX: a copy
        seen += np.asarray(rows).tolist()
        assert float(jax.numpy.abs(x[:, 0] % 2 - y[:, 0]).sum()) == 0
        del x, y, rows
    assert sorted(seen) == list(range(1000))


def pointer(t: Any) -> int:
    """Where TensorFlow has a tensor, by way of DLPack."""
    import tensorflow as tf

    class Producer:
        def __dlpack__(self, **_: object) -> Any:
            return tf.experimental.dlpack.to_dlpack(t)

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    return int(np.from_dlpack(Producer()).__array_interface__["data"][0])


def test_tensorflow_is_the_rings_memory(lent: list[int]) -> None:
    import tensorflow as tf

    seen: list[int] = []
    for x, y, rows in loader().tensorflow():
        assert x.dtype == tf.float32 and tuple(x.shape) == (100, 2)
        assert lent[-3:] == [pointer(x), pointer(y), pointer(rows)]
        seen += rows.numpy().tolist()
        assert (x.numpy()[:, 0] == rows.numpy()).all()
        del x, y, rows
    assert sorted(seen) == list(range(1000))


def test_tf_data_is_the_rings_memory(lent: list[int]) -> None:
    import tensorflow as tf

    of = loader()
    data = of.dataset()
    assert [s.shape.as_list() for s in data.element_spec] == [[None, 2], [None, 1], [None]]
    for _ in range(2):  # epochs
        seen: list[int] = []
        for x, _, rows in data:
            assert pointer(x) in lent[-6:]  # tf.data may be a batch ahead
            seen += rows.numpy().tolist()
            del x, rows
        assert sorted(seen) == list(range(1000))
    windows = vo.Loader(of.table, 10, features=["a", "b"], labels="y", history=5, horizon=2, prefetch=8).dataset()
    assert [s.shape.as_list() for s in windows.element_spec] == [[None, 5, 2], [None, 2, 1]]
    assert next(iter(windows))[1].shape == (10, 2, 1)
    twice = of.dataset(lambda x, y, rows: (x * 2, y, rows)).map(lambda x, y, rows: x)
    assert float(tf.reduce_max(next(iter(twice)))) > 0


def test_bfloat16_and_lists() -> None:
    import jax.numpy as jnp
    import pyarrow as pa
    import tensorflow as tf

    items = pa.array([[i] * (i % 3) for i in range(100)], pa.list_(pa.int32()))
    t = vo.from_arrow(pa.table({"x": np.arange(100), "c": ["red", "blue"] * 50, "l": items, "m": items}), device="cpu")
    x, lists = next(iter(vo.Loader(t, 20, dtype="bfloat16", one_hot=["c"], pad={"l": 2}, ragged={"m": 2}).jax()))
    assert x.dtype == lists["l"].dtype == jnp.bfloat16 and x.shape == (20, 3) and x[:, 0].tolist() == list(range(20))
    assert lists["l"].shape == (20, 2) and lists["m"][0].shape == (sum(i % 3 for i in range(20)),)
    for more, typ in (({}, tf.float32), ({"dtype": "bfloat16"}, tf.bfloat16), ({"layout": "columns"}, tf.int32)):
        data = vo.Loader(t, 20, one_hot=["c"], pad={"l": 2}, ragged={"m": 2}, masks=True, prefetch=8, **more).dataset()  # type: ignore[arg-type]
        rows = 0
        for parts in data:
            values, masks = parts if "layout" in more else parts[2:]
            assert values["l"].dtype == values["m"][0].dtype == typ and values["l"].shape[1] == masks["l"].shape[1] == 2
            assert masks["m"].shape[0] == values["m"][0].shape[0] == values["m"][1][-1]
            rows += values["m"][1].shape[0] - 1
        assert rows == 100 and (values["c"] if "layout" in more else parts[0]).shape[-1] == (2 if "layout" in more else 3)


def test_keras_fits() -> None:
    import keras

    x = np.random.default_rng(1).normal(size=(2000, 2)).astype(np.float32)
    t = vo.Table({"a": x[:, 0].copy(), "b": x[:, 1].copy(), "y": x[:, 0] - 2 * x[:, 1]})
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse")
    history = model.fit(vo.Loader(t, 100, labels="y", shuffle=True, prefetch=8).dataset(), epochs=5, verbose=0)
    assert history.history["loss"][-1] < 1e-3


@pytest.mark.parametrize("first", ["import tensorflow", "here()\nimport tensorflow"])
def test_opencl_beside_tensorflow(first: str) -> None:
    """A process with TensorFlow, whenever it comes, works on all devices: OpenCL's drivers have an LLVM of their own."""
    code = f"""
import volley as vo
def here():
    for d in vo.devices():
        if d.name:
            t = vo.Table({{"a": [1, 2]}}, device="cpu").to(d.name)
            made = t.select(b=vo.col("a") * 2).to_pydict(), vo.cumsum(t["a"]).to("cpu").to_pylist()
            assert made == ({{"b": [2, 4]}}, [1, 3]), (d, made)
{first}
here()
print("done")
"""
    pytest.importorskip("tensorflow")
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"})
    assert ran.returncode == 0 and ran.stdout == "done\n", ran.stderr[-2000:]
