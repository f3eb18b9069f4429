"""Columns: Arrow arrays, shared without a copy with whoever speaks Arrow's or DLPack's protocols, NumPy among them."""

from __future__ import annotations

import builtins
import ctypes
import datetime as _dt
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from ctypes import byref
from decimal import Decimal
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from . import _abi, _capsule, _cuda, _memory, _tensor, _times
from ._library import Handle, call, long_make, make, take_number, take_text
from ._memory import NUMBERS
from ._calls import say, shown
from ._joined import Alone, Shared, Unjoined
from ._lists import from_list
from ._pickle import reduce_column
from ._rows import number, rows_of, window
from ._values import pylist, value
from .cumulative import Cumulative
from .device import Device, device_of, no_array, no_framework, no_host_memory, place_of, taken_by
from .errors import Unsupported
from .reduced import Reduced

if TYPE_CHECKING:
    from .table import Table

_VALIDATE = {"cheap": _abi.VALIDATE_CHEAP, "none": _abi.VALIDATE_NONE, "full": _abi.VALIDATE_FULL}
_NOTHING = memoryview(b"")


def import_options(validate: str) -> Any:
    """The options of an import at a level of validation."""
    if not isinstance(validate, str) or validate not in _VALIDATE:
        raise ValueError(say(f"validate is one of {', '.join(_VALIDATE)}, not {shown(validate)}", validate))
    return byref(_abi.volley_import_options(ctypes.sizeof(_abi.volley_import_options), _VALIDATE[validate]))


class Column(Cumulative, Reduced, Handle):
    """An immutable column. It is made of anything that has Arrow's or DLPack's protocol or a buffer, without a copy, and of lists: of numbers, bools, texts,
    bytes, Decimals, dates, times, of lists of these, and None. NaT of NumPy and pandas is null. Comparisons make columns of bools, which filter takes.

    validate says how far what comes in by Arrow's protocol is looked at: "none" trusts its producer, "cheap" looks at lengths and the ends of
    offsets, "full" at every offset, index and text.

    >>> c = Column([1, 2, None])
    >>> c.null_count, c.dtype, c.to_pylist()
    (1, 'int64', [1, 2, None])
    """

    __slots__ = ("_seen", "_unjoined")
    _free = "volley_column_free"
    _unjoined: Unjoined | None
    _seen: tuple[_capsule.ArrowSchema, _capsule.ArrowArray] | None  # what values were read from, one by one

    def __init__(self, data: Any, dtype: str | None = None, *, validate: str = "cheap") -> None:
        super().__init__(_import(data, dtype, validate))

    @classmethod
    def _of(cls, handle: int) -> Column:
        c = cls.__new__(cls)
        Handle.__init__(c, handle)
        return c

    @classmethod
    def _later(cls, parts: Alone | Shared) -> Column:
        """A column of a table, made when it is asked for."""
        c = cls.__new__(cls)
        c._value, c._unjoined = None, Unjoined(parts)
        return c

    @property
    def _handle(self) -> int:
        later: Unjoined | None = getattr(self, "_unjoined", None)
        if later is not None:
            with later.lock:
                if self._unjoined is later:
                    self._value, self._unjoined = later.parts.join(), None
        if self._value is None:
            raise self._closed()
        return self._value

    def _parts(self) -> Alone | Shared | None:
        later: Unjoined | None = getattr(self, "_unjoined", None)
        return None if later is None else later.parts

    def close(self) -> None:
        """Gives the column back now; later use is an error."""
        self._unjoined = self._seen = None
        super().close()

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """A pickle carries the values, of a slice its own, and the name of the device that they are moved to again."""
        return reduce_column(self, int(protocol))

    def __copy__(self) -> Column:
        """Another object of the same memory, which nobody changes."""
        return self.slice(0)

    def __deepcopy__(self, memo: dict[int, Any]) -> Column:
        return self.__copy__()

    def __len__(self) -> int:
        parts = self._parts()
        return take_number("volley_column_length", self) if parts is None else parts.rows

    @property
    def dtype(self) -> str:
        """The name of the type: "int64", "utf8", "timestamp[us, tz=UTC]"."""
        parts = self._parts()
        return take_text("volley_column_type", self) if parts is None else parts.dtype()

    @property
    def null_count(self) -> int:
        """How many values are null."""
        return take_number("volley_column_null_count", self)

    @property
    def device(self) -> Device:
        """Where the column lives."""
        return Device._of(make("volley_column_device", self))

    def to(self, device: Device | str) -> Column:
        """The column on another device; the same memory where both work on the host's."""
        return Column._of(long_make("volley_column_to", self, device_of(device), free="volley_column_free"))

    def _near(self) -> Column:
        """The column in host memory."""
        return self if self.__dlpack_device__()[0] == 1 else self.to("cpu")

    def slice(self, offset: int, length: int | None = None) -> Column:
        """Values from offset on, from the end where it is below 0, without a copy.

        >>> Column([1, 2, 3, 4]).slice(1, 2)
        <Column int64 of 2: 2, 3>
        """
        offset, length = window(offset, length, len(self))
        parts = self._parts()
        if parts is not None and 0 <= offset <= offset + length <= parts.rows:
            return parts.slice(offset, length)
        return Column._of(make("volley_column_slice", self, offset, length))

    def _view(self) -> _abi.volley_array:
        view = _abi.volley_array(size=ctypes.sizeof(_abi.volley_array))
        call("volley_column_view", self, byref(view))
        return view

    def to_pylist(self) -> list[Any]:
        """The values as Python's: numbers, bools, texts, bytes, Decimals, dates, times, lists, dicts of structs, None.

        What Python counts in microseconds loses parts of them; a moment of a year that Python has not got is None.
        """
        schema, array = self._exported()
        return pylist(schema, array)

    def _exported(self) -> tuple[_capsule.ArrowSchema, _capsule.ArrowArray]:
        schema, array = _capsule.Schema(), _capsule.Array()
        call("volley_column_export", self, byref(array), byref(schema))
        return schema, array

    def __iter__(self) -> Iterator[Any]:
        return iter(self.to_pylist())

    # Comparisons, which make masks.

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise TypeError("a column has no truth value: use & | ~ of masks in place of and, or, not; len(column) says whether it has values")

    def _compared(self, op: str, *others: Any) -> Column:
        """What an operation of expressions makes of the column and of values, or columns as long as it."""
        from ._masks import compared

        return compared(self, op, others)

    def __eq__(self, other: object) -> Column:  # type: ignore[override]
        """Where the values are equal, as a column of bools: null where one is null."""
        return self._compared("eq", other)

    def __ne__(self, other: object) -> Column:  # type: ignore[override]
        return self._compared("ne", other)

    def __lt__(self, other: Any) -> Column:
        return self._compared("lt", other)

    def __le__(self, other: Any) -> Column:
        return self._compared("le", other)

    def __gt__(self, other: Any) -> Column:
        return self._compared("gt", other)

    def __ge__(self, other: Any) -> Column:
        return self._compared("ge", other)

    def __and__(self, other: Any) -> Column:
        return self._compared("and", other)

    def __or__(self, other: Any) -> Column:
        return self._compared("or", other)

    def __xor__(self, other: Any) -> Column:
        return self._compared("xor", other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> Column:
        return self._compared("not")

    @overload
    def __getitem__(self, i: SupportsIndex) -> Any: ...

    @overload
    def __getitem__(self, i: builtins.slice | Column | Iterable[Any]) -> Column: ...

    def __getitem__(self, i: Any) -> Any:
        """A value by its number, from the end where it is below 0; a part by a slice, or by a mask.

        >>> c = Column([1, 2, 3, 4])
        >>> c[-1], c[1:3].to_pylist(), c[c > 2].to_pylist()
        (4, [2, 3], [3, 4])
        """
        n = len(self)
        if isinstance(i, builtins.slice):
            return self.slice(*rows_of(i, n))
        if isinstance(i, (Column, list)) or getattr(i, "shape", ()) != ():
            return self.to_frame("values").filter(i).column("values")
        at = number(i, "column[i] takes the number of a value, a slice or a mask")
        if not -n <= at < n:
            raise IndexError(say(f"value {at} of a column of {n}", i))
        parts = self._parts()
        return self._value_at(at % n) if parts is None else parts.value(at % n)

    def _value_at(self, i: int) -> Any:
        """A value by its number, which is from 0 on and below the length."""
        self._handle  # noqa: B018 - a closed column has no values
        seen = getattr(self, "_seen", None)
        if seen is None:
            self._seen = seen = self._exported()
        schema, array = seen
        return value(schema, array, array.offset + i)

    def __repr__(self) -> str:
        n = len(self)
        try:
            shown = ", ".join(repr(v) for v in self.slice(0, min(n, 8)).to_pylist())
        except Unsupported:
            shown = "…"
        return f"<Column {self.dtype} of {n}: {shown}{', …' if n > 8 else ''}>"

    # Protocols.

    def __arrow_c_schema__(self) -> Any:
        schema = _capsule.ArrowSchema()
        call("volley_column_export", self, None, byref(schema))
        return _capsule.wrap(schema)

    @property
    def __arrow_c_array__(self) -> Callable[..., tuple[Any, Any]]:
        no_host_memory("column", self.__dlpack_device__())
        return self._arrow_c_array

    def _arrow_c_array(self, requested_schema: Any = None) -> tuple[Any, Any]:
        schema, exported = _capsule.ArrowSchema(), _capsule.ArrowArray()
        call("volley_column_export", self, byref(exported), byref(schema))
        return _capsule.wrap(schema), _capsule.wrap(exported)

    def __arrow_c_device_array__(self, requested_schema: Any = None, **options: Any) -> tuple[Any, Any]:
        """The column where it is, its work done."""
        _capsule.no_options(options)
        schema, exported = _capsule.ArrowSchema(), _capsule.ArrowDeviceArray()
        call("volley_column_export_device", self, byref(exported), byref(schema))
        return _capsule.wrap(schema), _capsule.wrap(exported)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        letters = _typestr(self.dtype)
        if self.__dlpack_device__()[0] != 2 or letters is None or self.null_count:
            raise AttributeError("only numbers, times and durations without nulls in a CUDA device's memory lie as CUDA arrays do")
        exported = _capsule.ArrowDeviceArray()
        call("volley_column_export_device", self, byref(exported), None)
        capsule = _capsule.wrap(exported)  # the column keeps the memory, and whoever asks keeps the column
        a = exported.array
        address = (a.buffers[1] or 0) + a.offset * int(letters[2] if letters[1] in "iuf" else 8) if a.length else 0
        del capsule
        return {"version": 3, "shape": (a.length,), "typestr": letters, "data": (address, True), "strides": None, "stream": None}

    def __dlpack_device__(self) -> tuple[int, int]:
        return place_of(self.device)

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None) -> Any:
        """A tensor of one dimension: the column's memory, read-only, unless copy is true; bools are copied, since tensors have bytes of them."""
        here = self.__dlpack_device__()
        if here[0] != 1 and dl_device is not None and tuple(map(int, dl_device)) == (1, 0) and copy is not False:
            return self.to("cpu").__dlpack__(max_version=max_version)
        if here[0] == 1 and self.dtype == "bool" and not self.null_count and dl_device in (None, (1, 0)) and stream is None:
            return _tensor.bools(self.to_pylist(), max_version, copy)
        return _tensor.export(self._to_dlpack, here, stream, max_version, dl_device, copy)

    def _to_dlpack(self, versioned: bool) -> int:
        return make("volley_column_to_dlpack" + ("_versioned" if versioned else ""), self)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        letters = _typestr(self.dtype)
        no_host_memory("column", self.__dlpack_device__())
        if letters is None or self.null_count:
            raise AttributeError("only numbers, times and durations without nulls lie as NumPy's arrays do")
        v = self._view()
        return {"version": 3, "shape": (v.length,), "typestr": letters, "data": (v.values or 0, True)}

    def __buffer__(self, flags: int) -> memoryview:
        """The numbers as a read-only buffer: ``memoryview(column)`` from Python 3.12 on, ``column.buffer()`` before."""
        dtype = self.dtype
        if self.__dlpack_device__()[0] != 1:
            raise BufferError(say(f"a column on {self.device.name}: bring it to the host first, .to(\"cpu\")"))
        if dtype not in NUMBERS or self.null_count or dtype == "float16" and sys.version_info < (3, 12):  # memoryviews had no halves
            raise BufferError(f"a column of {dtype} with {self.null_count} nulls: a buffer is of numbers without nulls")
        if flags & 1:
            raise BufferError("columns are immutable")
        letter: Any
        letter, _, width = NUMBERS[dtype]
        v = self._view()
        if v.length == 0:
            return _NOTHING.cast(letter)
        memory = (ctypes.c_char * (v.length * width)).from_address(v.values)
        memory._owner = self
        return memoryview(memory).toreadonly().cast("B").cast(letter)

    def buffer(self) -> memoryview:
        """The numbers of the column as a read-only memoryview of the same memory.

        >>> Column([1, 2, 3]).buffer().tolist()
        [1, 2, 3]
        """
        return self.__buffer__(0)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        import numpy as np

        no_array("column", self.__dlpack_device__())
        mine, nulls = self.dtype, self.null_count
        if _typestr(mine) is not None and not nulls:
            a = np.asarray(_Shared(self, self.__array_interface__))
            if dtype is not None and a.dtype != np.dtype(dtype):
                if copy is False:
                    raise ValueError(f"a column of {mine} as {dtype} is a copy")
                return a.astype(dtype)
            return a.copy() if copy else a
        if copy is False:
            raise ValueError(f"a column of {mine} with {nulls} nulls is an array only as a copy")
        if _typestr(mine) is None:
            values = self.to_pylist()
            plain = bool if mine == "bool" else "datetime64[D]" if mine == "date32" else object
            return np.array(values, dtype or (object if plain is bool and nulls else plain))
        v = self._view()
        made = np.array(_Shared(self, {"version": 3, "shape": (v.length,), "typestr": _typestr(mine), "data": (v.values or 0, True)}))
        bits = np.frombuffer(ctypes.string_at(v.validity, (v.bit_offset + v.length + 7) // 8), "uint8")
        missing = np.unpackbits(bits, bitorder="little")[v.bit_offset :][: v.length] == 0
        if made.dtype.kind in "iu":
            made = made.astype("float64")
        made[missing] = np.nan if made.dtype.kind == "f" else np.array("NaT", made.dtype)
        return made if dtype is None else made.astype(dtype)

    def to_numpy(self) -> Any:
        """A NumPy array: the same memory, read-only, where the values are numbers, timestamps or durations without nulls; else a copy.

        Nulls of numbers become NaN, those of times NaT, others None.
        """
        return self._near().__array__()

    def to_arrow(self) -> Any:
        """A pyarrow array: of the same memory, or a copy of a device's."""
        import pyarrow as pa

        return pa.array(self._near())

    def to_torch(self) -> Any:
        """A PyTorch tensor of the same memory, which must not be written to; of bools a copy, a byte each."""
        place = self.__dlpack_device__()
        no_framework("column", place, "PyTorch")
        import torch

        if self.dtype == "bool" and not self.null_count and len(self):
            return torch.frombuffer(bytearray(self.to_pylist()), dtype=torch.bool)  # PyTorch 1 knows no bools of DLPack
        return taken_by("PyTorch", "column", place, torch.from_dlpack, self)

    def to_jax(self) -> Any:
        """A JAX array, of the same memory where JAX takes it: it wants memory that begins at a multiple of 64 bytes, and 64-bit types enabled."""
        place = self.__dlpack_device__()
        no_framework("column", place, "JAX")
        import jax.numpy

        return taken_by("JAX", "column", place, jax.numpy.from_dlpack, self)

    def to_frame(self, name: str = "0") -> Table:
        """A table of the column."""
        from .table import Table

        return Table({name: self})


class _Shared:
    """What NumPy keeps for the memory of a column."""

    def __init__(self, owner: Column, interface: dict[str, Any]) -> None:
        self.owner, self.__array_interface__ = owner, interface


def is_scalar(value: Any) -> bool:
    """Whether it is one value, and not values that a column is made of."""
    known = (str, bytes, bool, int, float, Decimal, _dt.date, _dt.time, _dt.timedelta)
    return value is None or isinstance(value, known) or getattr(value, "shape", None) == () and type(value).__module__ == "numpy" and not hasattr(value, "__len__")


def _typestr(dtype: str) -> str | None:
    """A type as NumPy's array interface has it, None where there is none."""
    if dtype in NUMBERS:
        _, kind, width = NUMBERS[dtype]
        return f"{'|' if width == 1 else '<'}{kind}{width}"
    name, _, rest = dtype.partition("[")
    if name in ("timestamp", "duration"):
        return f"<{'M' if name == 'timestamp' else 'm'}8[{rest.rstrip(']').partition(',')[0]}]"
    return None


def _import(data: Any, dtype: str | None, validate: str) -> int:
    options = import_options(validate)
    if _times.is_of(data) and not hasattr(data, "__arrow_c_array__") and not hasattr(data, "__arrow_c_stream__"):
        handle = _times.of_array(data, dtype)
        if handle is not None:
            return handle
    if dtype is None:
        if hasattr(data, "__arrow_c_array__"):
            schema, exported = _capsule.pair(data.__arrow_c_array__(), "__arrow_c_array__")
            return make("volley_column_import", _capsule.unwrap(exported, b"arrow_array"), _capsule.unwrap(schema, b"arrow_schema"), options)
        if hasattr(data, "__arrow_c_device_array__"):
            schema, exported = _capsule.pair(data.__arrow_c_device_array__(), "__arrow_c_device_array__")
            return _from_device(_capsule.unwrap(exported, b"arrow_device_array"), _capsule.unwrap(schema, b"arrow_schema"), options)
        if hasattr(data, "__arrow_c_stream__"):
            return _from_stream(data, validate)
        if not hasattr(data, "mask") and getattr(getattr(data, "dtype", None), "kind", "") not in ("O", "U", "S"):
            handle = _memory.from_buffer(data)
            if handle is not None:
                return handle
            if hasattr(data, "__dlpack__"):
                address, versioned = _tensor.take(data)
                return make("volley_column_from_dlpack" + ("_versioned" if versioned else ""), address)
            if hasattr(data, "__cuda_array_interface__"):
                array, described = _cuda.of_interface(data)
                return _from_device(ctypes.addressof(array), ctypes.addressof(described), options)
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)) or hasattr(data, "tolist") and getattr(data, "ndim", 1) == 1:
        return from_list(data.tolist() if hasattr(data, "tolist") else list(data), dtype)
    raise TypeError(say(f"{shown(data)} is nothing that a column is made of: it has no Arrow or DLPack protocol, no buffer, and is no list", data))


def _from_device(array: int, schema: int, options: Any) -> int:
    return long_make("volley_column_import_device", array, schema, options, free="volley_column_free")


def _from_stream(data: Any, validate: str) -> int:
    from .table import Table  # a chunked array is a table of one column

    t = Table(data, device="cpu", validate=validate)
    column = t.column(t.columns[0])
    handle, column._value = column._handle, None
    return handle
