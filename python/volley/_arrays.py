"""Arrow's arrays as values of Python, both ways: a type as a tree, an array as a tree with its buffers."""

from __future__ import annotations

import ctypes
from ctypes import c_int64, c_void_p
from typing import Any, NamedTuple

from . import _capsule, _memory
from ._library import address, lend
from .errors import Unsupported


class Kind(NamedTuple):
    """A type, with the name that its column has."""

    format: str
    name: bytes | None = None
    metadata: bytes | None = None
    flags: int = 2  # it may be null
    children: tuple[Kind, ...] = ()
    dictionary: Kind | None = None


class Values(NamedTuple):
    """An array of a type: its buffers are what has the buffer protocol, or None."""

    length: int
    nulls: int
    offset: int
    buffers: tuple[Any, ...]
    children: tuple[Values, ...] = ()
    dictionary: Values | None = None


_WIDTHS = {
    "c": 1, "C": 1, "s": 2, "S": 2, "i": 4, "I": 4, "l": 8, "L": 8, "e": 2, "f": 4, "g": 8, "tdD": 4, "tdm": 8, "tts": 4, "ttm": 4, "ttu": 8, "ttn": 8,
    "tDs": 8, "tDm": 8, "tDu": 8, "tDn": 8, "tiM": 4, "tiD": 8, "tin": 16,
}  # fmt: skip
_OFFSETS = {"u": 4, "z": 4, "U": 8, "Z": 8, "+l": 4, "+m": 4, "+L": 8}


def width_of(code: str) -> int:
    """Bytes of a value of a type whose values are as long as each other, 0 of others."""
    if code.startswith("d:"):
        return int((*code.split(","), "128")[2]) // 8  # "d:9,2" is of 128 bits
    if code.startswith("w:"):
        return int(code[2:])
    return 8 if code.startswith("ts") else _WIDTHS.get(code, 0)


def kind_of(schema: _capsule.ArrowSchema) -> Kind:
    """The type of a structure of Arrow's."""
    return Kind(
        (schema.format or b"").decode(), schema.name, _metadata(schema.metadata), schema.flags,
        tuple(kind_of(_capsule.ArrowSchema.from_address(a)) for a in _addresses(schema)),
        kind_of(_capsule.ArrowSchema.from_address(schema.dictionary)) if schema.dictionary else None,
    )  # fmt: skip


def _addresses(structure: Any) -> list[int]:
    """Where the children of a structure are."""
    n = structure.n_children
    return list((c_void_p * n).from_address(structure.children)) if n else []


def _metadata(address: int | None) -> bytes | None:
    """The block of metadata at an address: a number of pairs, of which each part has its length before it."""
    if not address:
        return None
    size = 4
    for _ in range(2 * ctypes.c_int32.from_address(address).value):
        size += 4 + ctypes.c_int32.from_address(address + size).value
    return ctypes.string_at(address, size)


def values_of(kind: Kind, array: _capsule.ArrowArray, keep: Any) -> Values:
    """What a structure of Arrow's holds, without a copy but of offsets that do not begin at 0. keep lives as long as the buffers."""
    return _Reader(keep).part(kind, array, array.offset, array.length)


class _Reader:
    """Reads arrays of what keep holds. Values outside an array's own are left out, but for those that share its first byte of bits."""

    def __init__(self, keep: Any) -> None:
        self._keep = keep

    def part(self, kind: Kind, array: _capsule.ArrowArray, start: int, n: int) -> Values:
        """n values from start, which counts from the beginning of the buffers."""
        code = kind.format
        if code == "n":
            return Values(n, n, 0, ())
        first, shift = start & ~7, start & 7
        rows = shift + n
        bits = self._block(array.buffers[0] + first // 8, (rows + 7) // 8) if array.null_count != 0 and array.buffers[0] else None
        nulls = 0 if bits is None else array.null_count if (start, n) == (array.offset, array.length) else -1
        buffers, children = self._buffers(kind, array, first, rows)
        words = None
        if kind.dictionary is not None:
            inner = _capsule.ArrowArray.from_address(array.dictionary)
            words = self.part(kind.dictionary, inner, inner.offset, inner.length)
        return Values(n, nulls, shift, (bits, *buffers), children, words)

    def _buffers(self, kind: Kind, array: _capsule.ArrowArray, first: int, rows: int) -> tuple[tuple[Any, ...], tuple[Values, ...]]:
        """The buffers behind the first one, of nulls, and the children."""
        code, inner = kind.format, [_capsule.ArrowArray.from_address(a) for a in _addresses(array)]

        def child(i: int, start: int, n: int) -> Values:
            return self.part(kind.children[i], inner[i], inner[i].offset + start, n)

        if code == "b":
            return (self._block(array.buffers[1] + first // 8, (rows + 7) // 8),), ()
        if width := width_of(code):
            return (self._block((array.buffers[1] or 0) + first * width, rows * width),), ()
        if code == "+s":
            return (), tuple(child(i, first, rows) for i in range(len(inner)))
        if code.startswith("+w:"):
            each = int(code[3:])
            return (), (child(0, first * each, rows * each),)
        if code in _OFFSETS:
            offsets, begin, end = self._offsets((array.buffers[1] or 0), first, rows, _OFFSETS[code])
            if code[0] == "+":
                return (offsets,), (child(0, begin, end - begin),)
            return (offsets, self._block((array.buffers[2] or 0) + begin, end - begin)), ()
        if code in ("vu", "vz"):
            count = array.n_buffers - 3
            sizes = (c_int64 * count).from_address(array.buffers[2 + count]) if count else []
            data = [self._block(array.buffers[2 + i] or 0, size) for i, size in enumerate(sizes)]
            return (self._block((array.buffers[1] or 0) + first * 16, rows * 16), *data, bytes(sizes)), ()
        raise Unsupported(f"a column of Arrow's type {code!r} is not sent to another process: cast it, or write it to a file", "unsupported")

    def _block(self, address: int, size: int) -> memoryview:
        """Memory that keep holds."""
        if size == 0:
            return memoryview(b"")
        block: Any = (ctypes.c_char * size).from_address(address)
        block._owner = self._keep
        return memoryview(block).toreadonly().cast("B")

    def _offsets(self, address: int, first: int, rows: int, width: int) -> tuple[Any, int, int]:
        """Offsets that begin at 0, and the first and the last as they were."""
        if rows == 0:
            return bytes(width), 0, 0
        block = self._block(address + first * width, (rows + 1) * width)
        begin, end = (int.from_bytes(block[at : at + width], "little") for at in (0, rows * width))
        if begin == 0:
            return block, begin, end
        # One long number: no offset is less than the first, so that nothing is borrowed from one to the next.
        ones = int.from_bytes((1).to_bytes(width, "little") * (rows + 1), "little")
        return (int.from_bytes(block, "little") - begin * ones).to_bytes(len(block), "little"), begin, end


def none_of(kind: Kind) -> Values:
    """An array of a type that has no values."""
    code = kind.format
    buffers: tuple[Any, ...] = (None, b"")
    if code in _OFFSETS:
        buffers = (None, bytes(_OFFSETS[code])) if code[0] == "+" else (None, bytes(_OFFSETS[code]), b"")
    elif code == "n":
        buffers = ()
    elif code == "+s" or code.startswith("+w:"):
        buffers = (None,)
    elif code in ("vu", "vz"):
        buffers = (None, b"", b"")
    return Values(0, 0, 0, buffers, tuple(map(none_of, kind.children)), None if kind.dictionary is None else none_of(kind.dictionary))


_nothing = ctypes.create_string_buffer(64)  # where buffers without bytes are


class Made:
    """An array with Arrow's protocol over the buffers that it is given."""

    def __init__(self, kind: Kind, values: Values) -> None:
        self._kind, self._values = kind, values

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        kept: list[Any] = [self._values]
        schema, array = _schema(self._kind, kept), _array(self._values, kept)
        for structure in (schema, array):
            structure.private_data = lend(kept)
        return _capsule.wrap(schema), _capsule.wrap(array)


def _schema(kind: Kind, kept: list[Any]) -> _capsule.ArrowSchema:
    inner = [_schema(c, kept) for c in kind.children]
    texts = kind.format.encode(), kind.name
    kept.append(texts)  # the structure moves out, and what it points at has to outlive the object of ctypes
    made = _capsule.ArrowSchema(
        texts[0], texts[1], None, kind.flags, len(inner), _listed(inner, kept), None, address("volley_python_release_schema"), None
    )
    if kind.metadata is not None:
        block = ctypes.create_string_buffer(kind.metadata, len(kind.metadata))
        made.metadata = ctypes.addressof(block)
        kept.append(block)
    if kind.dictionary is not None:
        made.dictionary = _kept(_schema(kind.dictionary, kept), kept)
    return made


def _array(values: Values, kept: list[Any]) -> _capsule.ArrowArray:
    inner = [_array(c, kept) for c in values.children]
    at = (c_void_p * max(1, len(values.buffers)))(*[None if b is None else _address(b, kept) for b in values.buffers])
    kept.append(at)
    made = _capsule.ArrowArray(
        values.length, values.nulls, values.offset, len(values.buffers), len(inner), ctypes.cast(at, ctypes.POINTER(c_void_p)),
        _listed(inner, kept), None, address("volley_python_release_array"), None,
    )  # fmt: skip
    if values.dictionary is not None:
        made.dictionary = _kept(_array(values.dictionary, kept), kept)
    return made


def _listed(structures: list[Any], kept: list[Any]) -> int | None:
    """A list of structures as Arrow's have it."""
    if not structures:
        return None
    return _kept((c_void_p * len(structures))(*[_kept(s, kept) for s in structures]), kept)


def _kept(structure: Any, kept: list[Any]) -> int:
    kept.append(structure)
    return ctypes.addressof(structure)


def _address(buffer: Any, kept: list[Any]) -> int:
    view = memoryview(buffer).cast("B")
    kept.append(view)
    return _memory.address_of(view) or ctypes.addressof(_nothing)


__all__ = ["Kind", "Made", "Values", "kind_of", "none_of", "values_of", "width_of"]
