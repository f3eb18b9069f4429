"""A loader as a tf.data.Dataset.

tf.data has no way in for tensors that exist already but a call of Python for each batch. ``from_generator`` is such a call that goes by way of
NumPy and copies; here it is a ``tf.py_function`` that hands on the eager tensor that DLPack made of the batch's memory, without a copy.
"""

from __future__ import annotations

import time
from typing import Any

import tensorflow as tf

from .errors import OutOfMemory
from .loader import Batches, Loader, Transform, _tensorflow


def _specs(loader: Loader) -> Any:
    """What a batch is made of, as tf.TensorSpecs in the shape that Batch.parts gives."""
    masks = 2 if loader.masks else 1
    specs: list[Any] = []
    past = [loader.history] if loader.history else []
    next_ = [loader.horizon] if loader.history and loader.horizon else []

    def add(shape: list[int | None], dtype: str) -> None:
        specs.append(tf.TensorSpec(shape, tf.as_dtype(dtype)))

    if loader.matrix:
        for dtype in (loader.dtype or "float32", "uint8")[:masks]:
            add([None, *past, sum(map(loader.encodings.width, loader.matrix))], dtype)
    if loader.apart:
        for mask in (False, True)[:masks]:
            specs.append({n: _apart(loader, n, past, t, mask) for n, t in loader.types().items()})
    if loader.labels:
        for dtype in (loader.label_dtype or "float32", "uint8")[:masks]:
            add([None, *next_, len(loader.labels)], dtype)
    if loader.row_numbers:
        add([None], "int64")
    return specs[0] if len(specs) == 1 else tuple(specs)


def _apart(loader: Loader, name: str, past: list[int], dtype: str, mask: bool) -> Any:
    """The TensorSpec of a feature of its own, two of a ragged one."""
    of, typ = loader.encodings, tf.as_dtype("uint8" if mask else dtype)
    if name in of.ragged:
        items = tf.TensorSpec([None], typ)
        return items if mask else (items, tf.TensorSpec([None], tf.int64))
    width = of.length(name)
    return tf.TensorSpec([None, *past, *([width] if width else [])], typ)


# How long tf.data may take to let go of a batch: it does so on threads of its own, a moment after it was asked for the next.
_PATIENCE = 2.0


def _next(batches: Batches) -> Any:
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            return batches.next()
        except OutOfMemory:
            if time.monotonic() > until:
                raise
            time.sleep(0.001)


def dataset(loader: Loader, transform: Transform | None = None) -> Any:
    """A tf.data.Dataset of the loader's batches. Each iteration is one epoch, or what is left of it. transform works on eager tensors and must keep
    their number, types and ranks; what can be said as a graph is better said by ``.map``.

    Batches that tf.data keeps back (``prefetch``, ``shuffle``) are lent meanwhile: the loader's own ``prefetch`` must be larger.
    """
    specs = _specs(loader)
    flat = tf.nest.flatten(specs)
    batches = Batches(loader, _tensorflow(loader), transform)
    rest = [tf.zeros([0 if n is None else n for n in s.shape], s.dtype) for s in flat]

    def next_batch() -> list[Any]:
        made = _next(batches)
        return [tf.constant(False), *rest] if made is None else [tf.constant(True), *tf.nest.flatten(made)]

    def step(_: Any) -> Any:
        more, *parts = tf.py_function(next_batch, [], [tf.bool, *(s.dtype for s in flat)])
        for part, spec in zip(parts, flat):
            part.set_shape(spec.shape)
        more.set_shape([])
        return more, tf.nest.pack_sequence_as(specs, parts)

    # One call at a time: calls that tf.data makes beside each other would change the order, and take the ring's batches ahead of need.
    alone = tf.data.Options()
    alone.autotune.enabled = False
    alone.deterministic = True
    alone.experimental_optimization.apply_default_optimizations = False
    alone.experimental_optimization.map_parallelization = False
    alone.experimental_optimization.inject_prefetch = False
    made = tf.data.Dataset.range(2**62).map(step).take_while(lambda more, _: more).map(lambda _, parts: parts)
    return made.with_options(alone)


__all__ = ["dataset"]
