"""All tensors of a loader's batch in one call of the library, for frameworks that take capsules."""

from __future__ import annotations

import gc
from collections.abc import Callable
from ctypes import byref, c_int64, c_void_p
from typing import Any, cast

from . import _abi, _tensor
from ._library import encode, long_call
from .errors import OutOfMemory


class Handed:
    """A framework's function that takes capsules, as one that converts tensors. All parts of a batch are had for it in one call of the library."""

    def __init__(self, take: Callable[[Any], Any]) -> None:
        self.take = take

    def __call__(self, t: Any) -> Any:
        return t.handed(self.take)


class Parts:
    """The parts of a loader's batches, as one call of the library gives them."""

    def __init__(self, loader: Any, take: Callable[[Any], Any]) -> None:
        wanted: list[tuple[int, str | None, bool]] = []
        loader._arranged(lambda *part: wanted.append(part))
        self._names = [None if column is None else encode(column) for _, column, _ in wanted]  # which the structures point at
        self._wanted = (_abi.volley_batch_part * len(wanted))(
            *[_abi.volley_batch_part(column=name, part=part, mask=mask) for name, (part, _, mask) in zip(self._names, wanted)]
        )
        self._room = c_void_p * len(wanted)
        self._loader, self._take, self._plain = loader, take, not loader.apart

    def next(self) -> Any:
        """The parts of the next batch, each as the framework makes it of a capsule, arranged as Batch.parts has them; None at the end of an epoch."""
        made, count = self._room(), c_int64()
        args, outs = (self._loader._handle, self._wanted, len(made)), (byref(count), made)
        try:
            try:
                long_call("volley_loader_next_tensors", args, outs)
            except OutOfMemory:
                gc.collect()  # batches that are held by garbage alone
                long_call("volley_loader_next_tensors", args, outs)
        except BaseException:
            _tensor.delete(made[:])  # a signal came as the call ended
            raise
        if not count.value:
            return None
        all_ = _tensor.all_handed(cast(list[int], made[:]), self._take)  # none is null
        if self._plain:
            return all_[0] if len(all_) == 1 else tuple(all_)
        each = iter(all_)
        return self._loader._arranged(lambda *_: next(each))


__all__ = ["Handed", "Parts"]
