"""What a loader makes of columns whose values are no numbers."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

from . import _abi
from ._library import encode, texts
from .errors import Mismatch
from .loader_decode import Decoders
from .loader_map import MappedSource
from .loader_source import Source

Named = str | Sequence[str] | Mapping[str, Sequence[Any]]


class Encodings:
    """The encodings of a loader: their values, found in the data where they are not given, and the structures that tell the library."""

    def __init__(self, source: Source | MappedSource, categories: Named, one_hot: Named, pad: Mapping[str, int], pad_value: float, ragged: Mapping[str, int],
                 lenient: bool, decoders: Decoders) -> None:  # fmt: skip
        self.values: dict[str, list[Any]] = {}
        self.one_hot: dict[str, int] = {}
        self.padded, self.ragged, self.decoders = dict(pad), dict(ragged), decoders
        self._lenient, self._pad = lenient, pad_value
        twice = [*_columns(categories), *_columns(one_hot), *pad, *ragged, *decoders.types]
        if len(set(twice)) < len(twice):
            raise Mismatch(f"a column has two encodings: {twice}", "mismatch")
        for given in (categories, one_hot):
            for name in _columns(given):
                if name not in source.schema:
                    raise Mismatch(f"there is no column {name!r} to encode", "mismatch")
                self.values[name] = list(given[name]) if isinstance(given, Mapping) else _found(source, name)
        self.one_hot = {name: len(self.values[name]) for name in _columns(one_hot)}

    def lists(self, features: Sequence[str]) -> list[str]:
        """Those features that are tensors of their own in every layout."""
        return [n for n in features if n in self.padded or n in self.ragged or n in self.decoders.types]

    def length(self, name: str) -> int:
        """How many elements a row of a feature of its own has, 0 where it is one value."""
        return self.padded.get(name, self.one_hot.get(name, self.decoders.lengths.get(name, 0)))

    def width(self, name: str) -> int:
        """How many columns of the matrix a feature is."""
        return self.one_hot.get(name, 1)

    def structures(self) -> tuple[Any, int, list[Any]]:
        """The library's structures, how many they are, and what must be kept for the call."""
        keep: list[Any] = []
        made = []
        for name, values in self.values.items():
            listed = texts(_text(v) for v in values)
            keep.append(listed)
            kind = b"one_hot" if name in self.one_hot else b"categories"
            made.append(_abi.volley_encoding(column=encode(name), kind=kind, values=ctypes.addressof(listed), values_count=len(values), lenient=self._lenient))
        for kind, of in ((b"padded", self.padded), (b"ragged", self.ragged)):
            made += [_abi.volley_encoding(column=encode(n), kind=kind, length=length, pad=self._pad, lenient=self._lenient) for n, length in of.items()]
        return (_abi.volley_encoding * max(1, len(made)))(*made), len(made), keep


def _columns(given: Named) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _found(source: Source | MappedSource, name: str) -> list[Any]:
    """The values of a column, each once, in ascending order."""
    found = source.query().select(name).unique().collect()[name].to_pylist()
    return sorted(v for v in found if v is not None)


def _text(value: Any) -> str:
    """A value as the library writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int)):
        return str(value)
    raise Mismatch(f"the value {value!r} cannot be encoded: texts, whole numbers and bools can", "mismatch")
