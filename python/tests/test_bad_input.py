"""Structures that are wrong, made by hand: each is an exception that says what, and nothing is read that is not there."""

import ctypes
import gc
import os
import threading
from ctypes import byref, c_int64, c_void_p
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import volley as vo
from volley import _abi, _capsule, _tensor
from volley._library import library, live

_RELEASE = ctypes.CFUNCTYPE(None, c_void_p)
_released: list[int] = []


def _release_array(address: int) -> None:
    _capsule.ArrowArray.from_address(address).release = None
    _released.append(address)


def _release_schema(address: int) -> None:
    _capsule.ArrowSchema.from_address(address).release = None


_callbacks = _RELEASE(_release_array), _RELEASE(_release_schema)
_kept: list[Any] = []


def given(fmt: bytes, buffers: list[bytes | None], length: int, **more: Any) -> Any:
    """What has an array of these buffers."""
    blocks = [None if b is None else ctypes.create_string_buffer(b, max(1, len(b))) for b in buffers]
    pointers = (c_void_p * max(1, len(blocks)))(*[None if b is None else ctypes.addressof(b) for b in blocks])
    array = _capsule.ArrowArray(length=length, n_buffers=len(buffers), buffers=ctypes.cast(pointers, ctypes.POINTER(c_void_p)))
    array.release = ctypes.cast(_callbacks[0], c_void_p)
    schema = _capsule.ArrowSchema(format=fmt, name=b"", flags=2, release=ctypes.cast(_callbacks[1], c_void_p))
    if more.pop("no_buffers", False):
        array.buffers = ctypes.POINTER(c_void_p)()
    for name, value in more.items():
        setattr(schema if name in ("format", "name") else array, name, value)
    _kept.append((blocks, pointers))
    return Producer(_capsule.wrap(schema), _capsule.wrap(array))


class Producer:
    def __init__(self, *capsules: Any) -> None:
        self.capsules = capsules

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return self.capsules


def int32(*values: int) -> bytes:
    return np.array(values, "int32").tobytes()


NUMBERS = int32(1, 2, 3, 4)


def test_a_good_one_comes_in_and_is_released_once() -> None:
    _released.clear()
    c = vo.Column(given(b"i", [None, NUMBERS], 4))
    assert c.to_pylist() == [1, 2, 3, 4] and not _released
    c.close()
    assert len(_released) == 1


@pytest.mark.parametrize(
    ("what", "producer"),
    [
        ("a negative length", lambda: given(b"i", [None, NUMBERS], -1)),
        ("a negative offset", lambda: given(b"i", [None, NUMBERS], 2, offset=-2)),
        ("a length and an offset past 2^63", lambda: given(b"i", [None, NUMBERS], 2**63 - 1, offset=2**62)),
        ("more nulls than values", lambda: given(b"i", [b"\0", NUMBERS], 4, null_count=5)),
        ("too few buffers", lambda: given(b"i", [None], 4)),
        ("too many buffers", lambda: given(b"i", [None, NUMBERS, NUMBERS], 4)),
        ("a negative number of buffers", lambda: given(b"i", [None, NUMBERS], 4, n_buffers=-1)),
        ("no list of buffers", lambda: given(b"i", [None, NUMBERS], 4, no_buffers=True)),
        ("no values", lambda: given(b"i", [None, None], 4)),
        ("nulls without validity", lambda: given(b"i", [None, NUMBERS], 4, null_count=2)),
        ("children of a number", lambda: given(b"i", [None, NUMBERS], 4, n_children=1)),
        ("no children of a list", lambda: given(b"+l", [None, int32(0, 1)], 1)),
        ("no offsets of texts", lambda: given(b"u", [None, None, b"abc"], 1)),
        ("offsets that begin below 0", lambda: given(b"u", [None, int32(-1, 2), b"abc"], 1)),
        ("offsets that end before they begin", lambda: given(b"u", [None, int32(2, 1), b"abc"], 1)),
        ("a format that is none", lambda: given(b"?", [None, NUMBERS], 4)),
        ("an empty format", lambda: given(b"", [None, NUMBERS], 4)),
        ("a format that is not UTF-8", lambda: given(b"tsu:\xff\xfe", [None, NUMBERS * 2], 2)),
        ("a name that is not UTF-8", lambda: given(b"i", [None, NUMBERS], 4, name=b"\xff")),
        ("a decimal without digits", lambda: given(b"d:,", [None, NUMBERS], 1)),
        ("a NULL format", lambda: given(b"i", [None, NUMBERS], 4, format=None)),
        ("an extension of a union", lambda: given(b"+us:0", [NUMBERS], 1)),
    ],
)
def test_arrays_that_are_wrong(what: str, producer: Any) -> None:
    before = live()
    _released.clear()
    with pytest.raises((vo.Mismatch, vo.Unsupported, vo.InvalidValue)) as e:
        vo.Column(producer())
    assert str(e.value) and len(_released) == 1 and live() <= before + 1, what  # it was moved, and released


def test_levels_of_validation() -> None:
    def backwards() -> Any:
        return given(b"u", [None, int32(0, 3, 1, 3), b"abc"], 3)

    def not_utf8() -> Any:
        return given(b"u", [None, int32(0, 1, 3), b"a\xff\xfe"], 2)

    for producer in (backwards, not_utf8):
        for level in ("cheap", "none"):
            assert len(vo.Column(producer(), validate=level)) > 0  # the ends are right
        with pytest.raises(vo.VolleyError):
            vo.Column(producer(), validate="full")
    with pytest.raises(ValueError, match="validate is one of"):
        vo.Column(given(b"i", [None, NUMBERS], 4), validate="some")
    words = pa.DictionaryArray.from_arrays(pa.array([0, 9], pa.int8()), pa.array(["x"]), safe=False)
    with pytest.raises(vo.VolleyError):
        vo.Column(words, validate="full")


def test_capsules() -> None:
    c = vo.Column([1, 2])
    schema, array = c.__arrow_c_array__()
    for wrong in ((array, schema), (schema, 7), (schema, None), (schema,), 7, (schema, c.__dlpack__())):
        bad = Producer()
        bad.capsules = wrong
        with pytest.raises(vo.Mismatch):
            vo.Column(bad)
    assert vo.Column(Producer(schema, array)).to_pylist() == [1, 2]
    with pytest.raises(vo.Closed, match="released"):
        vo.Column(Producer(schema, array))
    used = c.__dlpack__()

    class Once:
        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

        def __dlpack__(self, **more: object) -> object:
            return used

    assert vo.Column(Once()).to_pylist() == [1, 2] and "used_dltensor" in repr(used)
    with pytest.raises(vo.Mismatch, match="used_dltensor"):
        vo.Column(Once())


def test_devices_that_are_not_there() -> None:
    class Elsewhere:
        def __init__(self, kind: int, number: int) -> None:
            self.place = kind, number

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.place

        def __dlpack__(self, **more: object) -> object:
            return vo.Column([1]).__dlpack__()

    with pytest.raises(vo.Unsupported, match="type 8"):
        vo.Column(Elsewhere(8, 0))
    with pytest.raises(vo.Unavailable):
        vo.Column(Elsewhere(2, 77))
    schema, capsule = vo.Column([1]).__arrow_c_device_array__()
    _capsule.ArrowDeviceArray.from_address(_capsule.unwrap(capsule, b"arrow_device_array")).device_type = 9

    class Device:
        def __arrow_c_device_array__(self, requested_schema: object = None, **more: object) -> object:
            return schema, capsule

    with pytest.raises(vo.VolleyError):
        vo.Column(Device())


def tensor(**fields: Any) -> Any:
    """A tensor of two int64 with some fields changed."""
    address = _tensor.copied(bytes(16), (2,), 0, 64, True)
    managed = _tensor.Versioned.from_address(address)
    for name, value in fields.items():
        setattr(managed if name in ("major", "deleter") else managed.tensor, name, value)
    capsule = _tensor.wrap(address, True)

    class Made:
        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

        def __dlpack__(self, **more: object) -> object:
            return capsule

    return Made()


@pytest.mark.parametrize(
    "fields",
    [{"data": None}, {"ndim": 0}, {"ndim": -1}, {"ndim": 2**30}, {"shape": None}, {"lanes": 4}, {"bits": 7}, {"code": 5}, {"major": 9}, {"device_type": 77}],
    ids=str,
)
def test_tensors_that_are_wrong(fields: dict[str, Any]) -> None:
    with pytest.raises(vo.VolleyError):
        vo.Column(tensor(**fields))
    assert not [o for o in gc.get_objects() if isinstance(o, _tensor.Versioned)]  # it was taken, and deleted


def test_tensor_of_a_negative_shape() -> None:
    made = tensor()
    _tensor.of(made.__dlpack__()).shape[0] = -2
    with pytest.raises(vo.Mismatch):
        vo.Column(made)


def test_sizes_of_structures() -> None:
    """A structure whose size is that of no version is refused."""
    lib, out = library(), c_void_p()
    schema, array = vo.Column([1]).__arrow_c_array__()
    at = _capsule.unwrap(array, b"arrow_array"), _capsule.unwrap(schema, b"arrow_schema")
    assert lib.volley_column_import(*at, byref(_abi.volley_import_options(3, 0)), byref(out)) == _abi.MISMATCH and not out.value
    view = _abi.volley_array(size=8)
    assert lib.volley_column_view(vo.Column([1]), byref(view)) == _abi.MISMATCH
    assert lib.volley_column_length(vo.Column([1]), None) == _abi.MISMATCH and lib.volley_column_import(None, None, None, byref(out)) == _abi.MISMATCH
    assert lib.volley_column_length(12345, byref(c_int64())) == _abi.CLOSED


def test_types_that_no_column_has() -> None:
    class Unhashable:
        __hash__ = None  # type: ignore[assignment]

    for bad in ({1, 2}, "text", 5, iter([1]), object(), None, Unhashable(), {"a": 1}):
        with pytest.raises(TypeError):
            vo.Column(bad)
    for bad_list in ([[1], 2], [object()], [1, "a"], [Unhashable()], [1j], np.array([1, "x", None], object)):
        with pytest.raises(TypeError):
            vo.Column(bad_list)
    for array, error in ((np.zeros(2, complex), vo.Unsupported), (np.zeros((2, 2)), vo.Mismatch), (np.array(5), vo.Mismatch), (np.array([1], ">i8"), BufferError)):
        with pytest.raises(error):
            vo.Column(array)
    for too_large in ([2**63, -1], [2**70, 1]):
        with pytest.raises(OverflowError):
            vo.Column(too_large)
    with pytest.raises(UnicodeError):
        vo.Column(["\ud800"])
    with pytest.raises((vo.VolleyError, TypeError)):
        vo.Column([1], "frobs")
    with pytest.raises(ValueError, match="NUL"):
        vo.col("a\0b")
    months = pa.array([(1, 2, 3)], pa.month_day_nano_interval())
    for wrong in (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int8())), months, pa.array([1], pa.decimal256(50)), pa.StructArray.from_arrays([months], ["m"])):
        with pytest.raises(vo.Unsupported):
            vo.Column(wrong)


def test_use_after_close_from_every_method() -> None:
    t, c, m = vo.Table({"a": [1]}), vo.Column([1]), vo.Matrix(np.ones((2, 2)))
    for x in (t, c, m):
        x.close()
    for use in (
        lambda: len(t), lambda: t.columns, lambda: t.filter("a > 0"), lambda: t["a"], lambda: t.to_pydict(), lambda: t._arrow_c_stream(), lambda: t.write_csv("x"),
        lambda: len(c), lambda: c.to_pylist(), lambda: c.slice(0), lambda: c.__dlpack__(), lambda: np.asarray(c), lambda: c._arrow_c_array(), lambda: m.shape, lambda: m @ m,
        lambda: c.__array_interface__, lambda: c.buffer(), lambda: vo.Table({"a": c}), lambda: t.__dataframe__(), lambda: repr(t), lambda: m.__dlpack__(),
    ):  # fmt: skip
        with pytest.raises(vo.Closed):
            use()


def test_closing_in_other_threads_while_it_is_used() -> None:
    """A call that is running keeps what it works on; later ones find it closed."""
    for _ in range(20):
        t = vo.Table({"a": list(range(1000))})
        ended: list[type] = []

        def use(t: vo.Table = t, ended: list[type] = ended) -> None:
            try:
                while True:
                    assert t.filter("a >= 990").shape == (10, 1)
            except vo.Closed as e:
                ended.append(type(e))

        threads = [threading.Thread(target=use) for _ in range(3)]
        for x in threads:
            x.start()
        t.filter("a > 0")
        t.close()
        for x in threads:
            x.join()
        assert ended == [vo.Closed] * 3


def test_after_a_fork_everything_is_an_exception() -> None:
    t, c = vo.Table({"a": [1]}), vo.Column([1])
    child = os.fork()
    if child == 0:
        try:
            for use in (lambda: len(t), lambda: t.to_pydict(), lambda: c.to_pylist(), lambda: vo.Column([2]), lambda: vo.col("a"), lambda: vo.devices(), lambda: t.columns):
                try:
                    use()
                    os._exit(3)
                except vo.Forked:
                    continue
            t.close()  # what the parent has is the parent's
            os._exit(0)
        except BaseException:
            os._exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and t.to_pydict() == {"a": [1]}


def test_numbers_that_c_cannot_hold() -> None:
    t = vo.Table({"x": [1.0, 2.0, 3.0]})
    for n in (2**70, 2**64 + 2, -(2**63) - 1):
        with pytest.raises(OverflowError, match=f"batch is {n}"):
            vo.Loader(t, n)
        with pytest.raises(OverflowError, match=f"is {n}, and has to be"):
            t.head(n)
    with pytest.raises(OverflowError, match="sample_rows is"):
        vo.scan_csv("no.csv", infer_schema_length=2**65)
    assert t.head(2**63 - 1).shape == (3, 1)
    with vo.Loader(t, 2, seed=2**63 - 1, epochs=1) as loader:
        assert sum(len(x) for x in loader.numpy()) == 3
    for state in ('{"epoch": 0}', [1]):
        with pytest.raises(TypeError, match="a state is a dict"):
            vo.Loader(t, 2, state=state)  # type: ignore[arg-type]
