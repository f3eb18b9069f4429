"""DLPack's rules. data-apis' array-api-tests want a whole namespace of arrays, which a table library has not got; what they ask of ``__dlpack__``,
``__dlpack_device__`` and ``from_dlpack`` is written out here: every dtype, version, device and copy, with NumPy, PyTorch and JAX as the other side."""

import enum
import gc
import itertools
import random

import numpy as np
import pytest
import volley as vo
from volley import _tensor
from volley._library import live

DTYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]


class DeviceType(enum.IntEnum):
    CPU = 1
    CUDA = 2


class Asked:
    """Remembers what a consumer asks of a tensor."""

    def __init__(self, owner: object) -> None:
        self.owner, self.asked = owner, {}

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.owner.__dlpack_device__()

    def __dlpack__(self, **more: object) -> object:
        self.asked = more
        return self.owner.__dlpack__(**more)


@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
def test_from_dlpack(dtype: str) -> None:
    """Dtype, shape and elements are the same for every version, device and copy."""
    r = random.Random(dtype)
    for n in (0, 1, 2, 7, 64, 1000):
        x = np.array([r.randrange(2) if dtype == "bool" else r.randrange(100) for _ in range(n)]).astype(dtype)
        column, matrix = vo.Column(x), vo.Matrix(x.reshape(1, n)) if dtype in ("float32", "float64") else None
        for copy, device in itertools.product((None, True, False), (None, "cpu")):
            if dtype == "bool" and copy is False:
                with pytest.raises(BufferError):
                    np.from_dlpack(column, copy=copy, device=device)
                continue
            y = np.from_dlpack(column, copy=copy, device=device)
            assert y.dtype == x.dtype and y.shape == x.shape and (y == x).all()
            if n and dtype != "bool":
                assert (y.ctypes.data != x.ctypes.data) if copy else (y.ctypes.data == x.ctypes.data)
            if matrix is not None:
                z = np.from_dlpack(matrix, copy=copy, device=device)
                assert z.dtype == x.dtype and z.shape == (1, n) and (z == x).all()
                assert n == 0 or (z.ctypes.data == x.ctypes.data) is not bool(copy)


def test_dunder_dlpack_device() -> None:
    for x in (vo.Column([1]), vo.Matrix(np.ones((2, 2)))):
        device = x.__dlpack_device__()
        assert isinstance(device, tuple) and len(device) == 2 and device == (1, 0) and all(isinstance(v, int) for v in device)


def test_dunder_dlpack() -> None:
    """Which capsule comes for which version, and what a tensor's flags say."""
    for x in (vo.Column([1.0, 2.0]), vo.Matrix(np.ones((2, 2))), vo.Column([True])):
        for version, name in ((None, "dltensor"), ((0, 8), "dltensor"), ((1, 0), "dltensor_versioned"), ((1, 3), "dltensor_versioned"), ((2, 0), "dltensor_versioned")):
            assert f'"{name}"' in repr(x.__dlpack__(max_version=version))
        assert x.__dlpack__(dl_device=(DeviceType.CPU, 0)) is not None and x.__dlpack__(dl_device=(1, 0), copy=True) is not None
        for wrong in ({"dl_device": (DeviceType.CUDA, 0)}, {"dl_device": (1, 1)}, {"stream": 1}, {"stream": -1}):
            with pytest.raises(BufferError):
                x.__dlpack__(**wrong)
    for copy, flags in ((None, _tensor.READ_ONLY), (False, _tensor.READ_ONLY), (True, _tensor.IS_COPIED)):
        capsule = vo.Column([1]).__dlpack__(max_version=(1, 1), copy=copy)
        managed = _tensor.Versioned.from_address(_tensor._capsule.pointer(capsule, b"dltensor_versioned"))
        assert (managed.major, managed.flags, managed.tensor.lanes, managed.tensor.ndim) == (1, flags, 1, 1)
    for refused in (vo.Column([1, None]), vo.Column(["x"]), vo.Column([True, None])):
        with pytest.raises(BufferError):
            refused.__dlpack__()


def test_copies_may_be_written_to_and_others_not() -> None:
    c = vo.Column([1, 2, 3])
    mine = np.from_dlpack(c, copy=True)
    mine[0] = 7
    assert c.to_pylist() == [1, 2, 3] and mine.tolist() == [7, 2, 3] and not np.from_dlpack(c).flags.writeable


def test_a_slice_is_a_tensor_of_its_part() -> None:
    a = np.arange(100, dtype="int16")
    c = vo.Column(a).slice(10, 20)
    y = np.from_dlpack(c)
    assert y.tolist() == list(range(10, 30)) and y.ctypes.data == a[10:].ctypes.data


def test_tensors_come_in_strided_read_only_and_empty() -> None:
    for dtype in DTYPES:
        a = np.arange(24).astype(dtype)
        read_only = a.copy()
        read_only.flags.writeable = False
        for x in (a, a[::3], a[::-1], a[5:5], a[3:], read_only):
            assert vo.Column(Asked(x)).to_pylist() == x.tolist()
    m = np.arange(12.0).reshape(3, 4)
    for x in (m, m.T, m[:, 1:3], m[::2], m[:0]):
        assert (vo.Matrix(x).to_numpy() == x).all() and vo.Matrix(x).shape == x.shape


def test_a_tensor_lives_as_long_as_its_last_user() -> None:
    before = live()
    y = np.from_dlpack(vo.Column(list(range(1000))))
    z = vo.Column(Asked(y))
    del y
    gc.collect()
    assert z.to_pylist()[-1] == 999
    del z
    unused = [vo.Column([1]).__dlpack__(max_version=v) for v in (None, (1, 0))]
    del unused
    gc.collect()
    assert live() <= before + 1
    assert not [o for o in gc.get_objects() if isinstance(o, (_tensor.Managed, _tensor.Versioned))]


def test_what_is_asked_of_other_producers() -> None:
    asked = Asked(np.arange(3))
    vo.Column(asked)
    assert asked.asked == {"max_version": (1, 1)}

    class Old(Asked):
        def __dlpack__(self) -> object:
            return self.owner.__dlpack__()

    assert vo.Column(Old(np.arange(3))).to_pylist() == [0, 1, 2]


def test_pytorch_and_jax_both_ways() -> None:
    torch = pytest.importorskip("torch")
    import jax

    jax.config.update("jax_enable_x64", True)
    for dtype in DTYPES:
        x = list(range(100))
        c = vo.Column(np.array(x, dtype))
        j = jax.numpy.from_dlpack(c)
        assert j.tolist() == x and j.dtype == dtype and vo.Column(j).to_pylist() == x
        if dtype not in ("uint16", "uint32", "uint64"):  # PyTorch 1 has them not
            t = torch.from_dlpack(c)
            assert t.tolist() == x and str(t.dtype) == f"torch.{dtype}" and vo.Column(t).to_pylist() == x and vo.Column(t).dtype == dtype
