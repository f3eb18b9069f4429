"""Training batches of a table or of files: drawn in a shuffled order by the library's workers, lent to NumPy, PyTorch, JAX, TensorFlow without a copy."""

from __future__ import annotations

import atexit
import ctypes
import gc
import json
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any, SupportsIndex

from . import _abi, _tensor
from ._calls import public, say, shown
from ._library import Handle, _read, call, encode, long_call, long_make, long_text, make, texts
from ._rows import number
from .device import Device, device_of, no_framework, place_of, taken_by
from .errors import Closed, Mismatch, OutOfMemory, Unsupported
from .expr import Expr
from .loader_decode import Decoder, Decoders
from .loader_encoding import Encodings, Named
from .loader_map import BatchMap, MappedSource
from .loader_parts import Handed, Parts
from .loader_source import source_of
from .table import Table

if TYPE_CHECKING:
    from .loader_torch import TorchLoader

Transform = Callable[..., Any]
_LAYOUTS = ("row_major", "column_major", "columns")
_NUMBERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")


class BatchTensor:
    """A tensor of a batch. It has DLPack's protocol, by which it is taken once: who takes it owns it, may write to it, and gives its memory
    back by forgetting it."""

    __slots__ = ("_batch", "_column", "_mask", "_part")

    def __init__(self, batch: Batch, part: int, column: str | None, mask: bool) -> None:
        self._batch, self._part, self._column, self._mask = batch, part, column, mask

    @property
    def _place(self) -> tuple[int, int]:
        """Where the tensor is, in DLPack's numbers."""
        return (1, 0) if self._part in (_abi.BATCH_ROWS, _abi.BATCH_OFFSETS) else self._batch._loader.place

    def used_on(self, stream: int) -> None:
        """Names the CUDA stream that reads the batch: its memory is written anew behind what that was given until the last tensor was forgotten."""
        if self._place[0] == 2 and stream != -1:
            call("volley_batch_used_on", self._batch._handle, stream)

    def capsule(self, versioned: bool = False) -> Any:
        """A PyCapsule of DLPack's managed tensor."""
        return _tensor.wrap(self._exported("volley_batch_to_dlpack_versioned" if versioned else "volley_batch_to_dlpack"), versioned)

    def handed(self, take: Callable[[Any], Any]) -> Any:
        """What a framework's function makes of such a capsule, which it takes."""
        if not callable(take):
            raise TypeError(say(f"{shown(take)} is no function", take))
        return _tensor.handed(self._exported("volley_batch_to_dlpack"), take)

    def _exported(self, name: str) -> int:
        """The address of the managed tensor that a function of the library makes."""
        return make(name, self._batch, self._part, None if self._column is None else encode(self._column), int(self._mask))

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._place

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None) -> Any:
        here = self._place
        if stream is not None and here[0] != 2 or copy or dl_device is not None and tuple(map(int, dl_device)) != here:
            raise BufferError(f"the batch is in {'host memory' if here[0] == 1 else f'the memory of device {here}'}, and is exported as it is")
        if stream == 0:
            raise ValueError("stream 0 means nothing of CUDA: it is 1, 2, an address, or -1 where nothing waits")
        self.used_on(1 if stream is None else int(stream))
        return self.capsule(max_version is not None and max_version[0] >= 1)


class Batch(Handle):
    """A lent batch. Its memory comes back to the loader's ring when the batch and all that was taken of it are forgotten."""

    __slots__ = ("_loader",)
    _free = "volley_batch_free"
    _bare = ("parts", "numpy", "torch", "jax", "tensorflow", "features", "labels", "column", "offsets", "close")  # called for each batch
    _loader: Loader

    @classmethod
    def _of(cls, handle: int, loader: Loader) -> Batch:
        b = cls.__new__(cls)
        Handle.__init__(b, handle)
        b._loader = loader
        return b

    _stays = "it lends memory of a loader of this process: send the arrays that are made of it"

    def _info(self) -> _abi.volley_batch_info:
        out = _abi.volley_batch_info(size=ctypes.sizeof(_abi.volley_batch_info))
        call("volley_batch_describe", self._handle, byref(out))
        return out

    @property
    def epoch(self) -> int:
        """The epoch that the batch is of, from 0."""
        return int(self._info().epoch)

    @property
    def padded(self) -> int:
        """How many of the rows, the last, are given a second time in the epoch, so that all ranks get as many."""
        return int(self._info().padded)

    def __len__(self) -> int:
        return int(self._info().rows)

    @property
    def features(self) -> BatchTensor:
        """The matrix of the features."""
        return BatchTensor(self, _abi.BATCH_FEATURES, None, False)

    @property
    def labels(self) -> BatchTensor:
        """The matrix of the labels."""
        return BatchTensor(self, _abi.BATCH_LABELS, None, False)

    def column(self, name: str) -> BatchTensor:
        """A feature of the layout "columns", or one of lists in any layout."""
        return BatchTensor(self, _abi.BATCH_COLUMN, name, False)

    def offsets(self, name: str) -> BatchTensor:
        """Where the items of each row begin in a ragged column, and behind the last how many there are."""
        return BatchTensor(self, _abi.BATCH_OFFSETS, name, False)

    @property
    def rows(self) -> BatchTensor:
        """The numbers of the rows in the table."""
        return BatchTensor(self, _abi.BATCH_ROWS, None, False)

    def parts(self, convert: Callable[[BatchTensor], Any]) -> Any:
        """Everything that the loader was asked for, each part converted: the features, their mask, the labels, their mask, the rows' numbers. One
        part comes alone, several as a tuple. In the layout "columns" features and their masks are dicts by name; in the others such dicts of the
        lists follow the features. A ragged list is a pair of items and offsets. The batch is closed."""
        if not callable(convert):
            raise TypeError(say(f"{shown(convert)} is no function", convert))
        try:
            return self._loader._arranged(lambda *part: convert(BatchTensor(self, *part)))
        finally:
            self.close()

    def numpy(self) -> Any:
        """The parts as NumPy arrays, of batches in host memory."""
        return self.parts(_numpy(self._loader))

    def torch(self) -> Any:
        """The parts as PyTorch tensors."""
        return self.parts(_torch(self._loader))

    def jax(self) -> Any:
        """The parts as JAX arrays."""
        return self.parts(_jax(self._loader))

    def tensorflow(self) -> Any:
        """The parts as TensorFlow tensors."""
        return self.parts(_tensorflow(self._loader))


def _numpy(loader: Loader) -> Callable[[BatchTensor], Any]:
    import numpy as np

    if loader.place[0] != 1:
        raise Unsupported(say(f"NumPy's arrays are in host memory, and the batches on {loader.device}: open the loader without device"), "unsupported")
    if "bfloat16" in (loader.dtype, loader.label_dtype):
        raise Unsupported("NumPy has no bfloat16: take torch, jax or tensorflow, or another dtype", "unsupported")
    return np.from_dlpack


def _torch(loader: Loader) -> Callable[[BatchTensor], Any]:
    no_framework("batch", loader.place, "PyTorch")
    from torch.utils.dlpack import from_dlpack

    kind, number = loader.place
    if kind != 2:
        return Handed(from_dlpack)
    from torch.cuda import current_stream

    def take(t: BatchTensor) -> Any:
        t.used_on(taken_by("PyTorch", "batch", (kind, number), current_stream, number).cuda_stream)
        return t.handed(from_dlpack)

    return take


def _jax(loader: Loader) -> Callable[[BatchTensor], Any]:
    no_framework("batch", loader.place, "JAX")
    import jax.dlpack

    take: Callable[[BatchTensor], Any] = jax.dlpack.from_dlpack
    place = loader.place
    if place[0] == 1:
        return take
    return lambda t: taken_by("JAX", "batch", place, take, t)


def _tensorflow(loader: Loader) -> Callable[[BatchTensor], Any]:
    no_framework("batch", loader.place, "TensorFlow")
    import tensorflow as tf

    return Handed(tf.experimental.dlpack.from_dlpack)


@public
class Loader:
    """Training batches of a table or of files, made ahead of who uses them by the library's own threads.

    >>> t = Table({"x": [1.0, 2.0, 3.0, 4.0], "color": ["red", "blue", "red", "red"], "y": [0, 1, 0, 1]})
    >>> loader = Loader(t, 2, labels="y", shuffle=True, seed=7, one_hot=["color"])
    >>> len(loader), loader.categories
    (2, {'color': ['blue', 'red']})

    Each loop is over one epoch, or over what is left of it after a break: ``set_epoch`` begins one anew. A batch is lent: its memory comes back
    when all that was made of it is forgotten, and is never written to before. Who holds all ``prefetch`` batches gets OutOfMemory for the next.

    data: a Table; a Query, which is collected; record batches (pyarrow's, or of whatever else has Arrow's protocols): an object with
    ``__arrow_c_stream__``, an iterable of batches, or a function that gives one of these. Without rows they are read into memory; with rows, how many
    there are, they are read piece by piece as they are used, in their order or shuffled by "blocks+buffer", and for each epoch anew: a generator
    itself, which is read once, has one epoch. Too few are a Mismatch behind the rows that came, too many one at the end of the epoch. Or files of any size: a path, a pattern such as "folder/*.parquet", a folder, or a list of these,
    all of one format, by their endings or by format: "parquet", "csv", "arrow". csv are arguments of scan_csv, int96 is scan_parquet's and
    max_unpacked scan_ipc's, cache is how many bytes of decoded parts are kept (0: 256 MiB, -1: none). skip_bad: rows of a part that is damaged are left out, and counted in ``stats()["skipped"]``; else they
    are an error that names file and part.

    features: columns of the batches; None means all that are no labels, weights or group. labels: columns that come apart, as a matrix. layout:
    "row_major" or "column_major" matrices, or "columns", a tensor for each feature. dtype, label_dtype: "float32", "float64", "float16",
    "bfloat16" (which NumPy has not got), "int32", "int64"; None is float32, and each column's own in the layout "columns". masks: a mask for each
    tensor, without which nulls are an error. row_numbers: batches also have the numbers of their rows.

    shuffle: True or "rows", all rows in another order for each epoch; "blocks+buffer", for files beyond memory: their parts in another order for
    each epoch, through a buffer of so many rows in which these are shuffled, so that each part is read once an epoch. In its place one of weights:
    the column by which rows are drawn with replacement, draws of them an epoch (0: as many as there are); stratify: the column of classes of which
    each stretch of an epoch has its share; group: the column of groups whose rows come one after the other.

    categories, one_hot: columns of texts, whole numbers or bools that become the places of their values, or a column for each value. A list of names
    has the values looked for in the data, a dict gives them; ``loader.categories`` has them. pad: columns of lists, and the length that they are
    padded to with pad_value; ragged: columns of lists that come as items and offsets, and how long the longest may be. lenient: values that are
    not listed are -1, or all zeros, and longer lists are cut; else they are an error that names the row.

    decode: columns of bytes or texts, images say, by functions of the program: {"image": (function, "uint8", 784)} makes 784 elements of a row, a
    tensor of its own. function(value, out) is given the value as bytes and sets all of out, a NumPy array where NumPy is imported and a memoryview
    else, and is called on the workers' threads; one of C (``loader_decode.Decode``, Numba's cfunc) is called without the GIL. An exception is the error of
    the batch and names the row, which skip_bad leaves out.

    derive: columns by expressions over columns of numbers, evaluated batch by batch, also over files and batches that go by: {"z": "(x - 3) / 2"} or
    {"z": (col("x") - 3) / 2}. The name of a column that there is puts the expression in its place.

    map_batches: a BatchMap, a function that makes a table of each batch's rows: a join with a small table, text functions, pyarrow's or Polars'
    operators. features, labels, encodings, derive are of what it makes.

    pin_memory: as DataLoader has it: the ring is in pinned memory, so that ``x.to("cuda", non_blocking=True)`` copies beside other work. Where there is
    none, without CUDA say, it is in plain memory, with a warning once. device: "cuda:0" has the batches copied there as soon as they are made, and
    tensors are CUDA's; of a Table that lies there they are gathered there, and the table is not copied to the host, where batches are of numbers
    of 8 to 64 bits. The numbers of the rows, and offsets, stay on the host. Use them on the stream that was PyTorch's current one, or that was
    named to ``__dlpack__``, when they were taken: their memory is written anew behind that stream's work.

    rank, num_replicas, seed, drop_last: as DistributedSampler has them. Every rank gets as many batches; where the rows cannot be shared equally
    some come twice, or with drop_last those that fill no whole batch on each rank are left out. remainder="uneven" gives each row once.

    history: above 0, each row of a batch is a window over a time series: so many rows of the past are the features, rows × steps × columns, and the
    horizon rows after them the labels (0: those of the past's last row, without steps). Windows begin every stride rows, and none has rows of two
    entities: a column of numbers or texts that changes from one series to the next. A column may be feature and label.

    workers: threads that make batches; None is one for each processor, 0 none: the loop makes them. prefetch: batches of the ring. spare: bytes in
    which rows are laid out for random reading. take: the loader takes the table over, which is closed: all its columns are laid out by rows, as a
    tensor is, and the table given back, so that there is one copy of the data and random rows are as fast as they can be; for who needs the table
    no more. A table that others hold too (a mapped file, an Arrow table) stays with them. state: where to go on, from ``state_dict``.
    """

    _bare = ("next",)  # called for each batch

    def __init__(self, data: Any, batch_size: int, *, features: Sequence[str] | None = None, labels: str | Sequence[str] = (),
                 layout: str = "row_major", dtype: str | None = None, label_dtype: str | None = None, masks: bool = False, row_numbers: bool = False,
                 shuffle: bool | str = False, buffer: int = 0, weights: str | None = None, draws: int = 0, stratify: str | None = None,
                 group: str | None = None, seed: int = 0, categories: Named = (), one_hot: Named = (), pad: Mapping[str, int] | None = None,
                 pad_value: float = 0.0, ragged: Mapping[str, int] | None = None, lenient: bool = False, rank: int = 0, num_replicas: int = 1,
                 drop_last: bool = False, remainder: str | None = None, epochs: int = 0, workers: int | None = None, prefetch: int = 0,
                 spare: int = 0, history: int = 0, horizon: int = 0, stride: int = 1, entity: str | None = None, take: bool = False, skip_bad: bool = False,
                 rows: int | None = None, decode: Mapping[str, Decoder] | None = None, derive: Mapping[str, Expr | str] | None = None,
                 map_batches: BatchMap | None = None,
                 pin_memory: bool = False, device: Device | str | None = None, format: str | None = None, csv: Mapping[str, Any] | None = None,
                 int96: str | None = None, max_unpacked: int = 0, cache: int = 0, state: Mapping[str, Any] | None = None) -> None:  # fmt: skip
        self._loader: _Open | None = None
        if layout not in _LAYOUTS:
            raise Mismatch(say(f"there is no layout {shown(layout)}; there are {', '.join(_LAYOUTS)}", layout), "mismatch")
        source = source_of(data, format, csv, cache, rows, int96, max_unpacked)
        self.source = source if map_batches is None else MappedSource(source, map_batches)
        if take and self.source.table is None:
            raise Mismatch(say("take is of a table, and not of files or batches"), "mismatch")
        self._device = device_of(device)
        self.place = (1, 0) if self._device is None else place_of(self._device)
        self._derived = {name: _expression(e) for name, e in (derive or {}).items()}
        self.schema = dict(self.source.schema)
        if self._derived:
            self.schema.update(self.source.empty().select(**self._derived).schema)
        self.table = self.source.table  # None of files
        self.labels = [labels] if isinstance(labels, str) else list(labels)
        without = [entity] if history else [*self.labels, entity, weights, group]
        self.features = [n for n in self.schema if n not in without] if features is None else list(features)
        self.encodings = Encodings(self.source, categories, one_hot, pad or {}, pad_value, ragged or {}, lenient, Decoders(decode))
        lists = self.encodings.lists(self.features)
        self.matrix = [] if layout == "columns" else [n for n in self.features if n not in lists]
        self.apart = self.features if layout == "columns" else lists
        self.batch_size, self.layout, self.masks, self.row_numbers = batch_size, layout, masks, row_numbers
        self.dtype, self.label_dtype, self.seed, self.shuffle = dtype, label_dtype, seed, shuffle
        self.rank, self.num_replicas, self.drop_last = rank, num_replicas, drop_last
        self.history, self.horizon, self.pin_memory = history, horizon, pin_memory

        def text(value: str | None) -> bytes | None:
            return None if value is None else encode(value)

        self._options: dict[str, Any] = {
            "layout": text(layout), "type": text(dtype), "label_type": text(label_dtype), "masks": masks, "batch": batch_size,
            "shuffle": bool(shuffle), "shuffle_by": text(shuffle) if isinstance(shuffle, str) else None, "buffer": buffer, "weights": text(weights),
            "draws": draws, "stratify": text(stratify), "group": text(group), "seed": seed, "rank": rank, "ranks": num_replicas,
            "remainder": text(remainder or ("drop" if drop_last else "pad")), "epochs": epochs, "workers": -1 if workers == 0 else workers or 0,
            "prefetch": prefetch, "spare": spare, "history": history, "horizon": horizon, "stride": stride if history else 0, "entity": text(entity),
            "skip_bad": skip_bad, "take": take, "pin": pin_memory, "device": None if self._device is None else self._device._handle,
        }  # fmt: skip
        self._open(state)

    @property
    def categories(self) -> dict[str, list[Any]]:
        """The values of the columns that are encoded as categories or one-hot, in the order of their places."""
        return self.encodings.values

    def _open(self, state: Mapping[str, Any] | None) -> None:
        if not isinstance(state, Mapping | None):
            raise TypeError(say(f"a state is a dict, as state_dict gives it, not {shown(state)}", state))
        try:
            written = None if state is None else encode(json.dumps(dict(state)))
        except (TypeError, ValueError) as e:
            raise TypeError(say(f"a state is what state_dict gives: {e}", state)) from None
        lists = [texts(self.features), texts(self.labels)]
        encodings, count, _keep = self.encodings.structures()
        decoders = self.encodings.decoders.structures()
        made = [_abi.volley_derived(name=encode(n), value=e._handle) for n, e in self._derived.items()]
        derived = (_abi.volley_derived * max(1, len(made)))(*made)
        by = self.source.by.structure() if isinstance(self.source, MappedSource) else None
        o = _abi.volley_loader_options(
            size=ctypes.sizeof(_abi.volley_loader_options), features=ctypes.addressof(lists[0]), features_count=len(self.features),
            labels=ctypes.addressof(lists[1]), labels_count=len(self.labels), encodings=ctypes.addressof(encodings), encodings_count=count,
            decoders=ctypes.addressof(decoders), decoders_count=len(self.encodings.decoders), derive=ctypes.addressof(derived),
            derive_count=len(self._derived), map=None if by is None else ctypes.addressof(by),
            state=written, **self._options,
        )  # fmt: skip
        taken = self.table if self._options["take"] else None
        if taken is not None and self._loader is not None:
            opened = _Open(long_make("volley_loader_reopen", self._loader, byref(o), free="volley_loader_free"))
        else:
            opened = _Open(self.source.open(o))
        if taken is not None:
            taken.close()
        if self._loader is not None:
            self._loader.close()
        self._loader = opened
        opened.keep(self)
        _warn(opened)

    @property
    def device(self) -> str:
        """The name of the device that the batches are on."""
        return "cpu" if self._device is None else self._device.name

    @property
    def _handle(self) -> _Open:
        if self._loader is None:
            raise Closed(say("this Loader was closed"), "closed")
        return self._loader

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        raise TypeError("a Loader cannot be pickled or copied: its workers are threads of this process; open one there, with state=loader.state_dict()")

    def next(self) -> Batch | None:
        """The next batch; None at the end of an epoch, after which the next one begins."""
        out = c_void_p()
        try:
            long_call("volley_loader_next", (self._handle,), [byref(out)])
        except OutOfMemory:
            gc.collect()  # batches that are held by garbage alone
            long_call("volley_loader_next", (self._handle,), [byref(out)])
        except BaseException:
            if out.value:  # a signal came as the call ended
                Batch._of(out.value, self).close()
            raise
        return None if not out.value else Batch._of(out.value, self)

    def _arranged(self, get: Callable[[int, str | None, bool], Any]) -> Any:
        """What Batch.parts gives, of what get gives for each part, column and mask."""
        made: list[Any] = []
        masks = (False, True) if self.masks else (False,)

        def apart(name: str, mask: bool) -> Any:
            one = get(_abi.BATCH_COLUMN, name, mask)
            return (one, get(_abi.BATCH_OFFSETS, name, False)) if name in self.encodings.ragged and not mask else one

        if self.matrix:
            made.extend(get(_abi.BATCH_FEATURES, None, mask) for mask in masks)
        if self.apart:
            made.extend({n: apart(n, mask) for n in self.apart} for mask in masks)
        if self.labels:
            made.extend(get(_abi.BATCH_LABELS, None, mask) for mask in masks)
        if self.row_numbers:
            made.append(get(_abi.BATCH_ROWS, None, False))
        return made[0] if len(made) == 1 else tuple(made)

    def __iter__(self) -> Iterator[Batch]:
        while (b := self.next()) is not None:
            yield b
            del b  # or it would be held while the next one is waited for

    def __len__(self) -> int:
        """Batches of a whole epoch for this rank."""
        return int(self.stats()["steps"])

    def numpy(self, transform: Transform | None = None) -> Batches:
        """Batches of NumPy arrays; see Batches."""
        return Batches(self, _numpy(self), transform)

    def jax(self, transform: Transform | None = None) -> Batches:
        """Batches of JAX arrays on the host."""
        return Batches(self, _jax(self), transform)

    def tensorflow(self, transform: Transform | None = None) -> Batches:
        """Batches of TensorFlow's eager tensors. ``dataset`` makes a tf.data.Dataset of them."""
        return Batches(self, _tensorflow(self), transform)

    def torch(self, transform: Transform | None = None) -> TorchLoader:
        """Batches of PyTorch tensors, as an IterableDataset that is used like a DataLoader."""
        no_framework("batch", self.place, "PyTorch")
        from .loader_torch import TorchLoader

        return TorchLoader(self, transform)

    def dataset(self, transform: Transform | None = None) -> Any:
        """A tf.data.Dataset of batches, one epoch an iteration, which Keras' fit takes. See loader_tensorflow."""
        no_framework("batch", self.place, "TensorFlow")
        from .loader_tensorflow import dataset

        return dataset(self, transform)

    def state_dict(self) -> dict[str, Any]:
        """Where the loader stands, for a checkpoint: what was given out is seen. It serves any rank, and any number of them."""
        made: dict[str, Any] = json.loads(long_text("volley_loader_state", self._handle))
        return made

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from a state: rows that were given out then do not come again, all others do. Changed data or options are a Mismatch."""
        self._handle  # noqa: B018 - what was closed stays closed
        self._open(state)

    def set_epoch(self, epoch: int) -> None:
        """Goes to the beginning of an epoch, as DistributedSampler does. Costs nothing where that comes next anyway."""
        now, to = self.state_dict(), number(epoch)
        if (now["epoch"], now["position"]) != (to, 0):
            self._open({**now, "epoch": to, "position": 0})

    def stats(self) -> dict[str, Any]:
        """Figures since the loader was opened: batches and rows given out, rows_per_second over elapsed, in which time when nobody asked counts too, how many
        batches waited when one was asked for (``fill``), bytes of the ring, the stage that bounds it (``bound``), and seconds. Of all
        decoders together: read, decode; of all workers together: decode_wait, gather, transform, copy to the device, producer_wait for room in the
        ring; of who takes the batches: consumer_wait."""
        f = _abi.volley_loader_figures(size=ctypes.sizeof(_abi.volley_loader_figures))
        call("volley_loader_stats", self._handle, byref(f))
        seconds = ("elapsed", "read", "decode", "decode_wait", "gather", "transform", "copy", "producer_wait", "consumer_wait")
        made: dict[str, Any] = {field[0]: getattr(f, field[0]) for field in f._fields_[1:]}
        made.update({name: made[name] / 1e9 for name in seconds}, bound=(f.bound or b"").decode())
        made["rows_per_second"] = made["rows"] / made["elapsed"] if made["elapsed"] else 0.0
        return made

    def report(self) -> str:
        """The figures of ``stats`` in words: how fast batches came, which stage bounds them, what each stage took, who waited how long, and which order the
        rows come in."""
        out = c_void_p()
        call("volley_loader_report", self._handle, byref(out))
        return _read(out)

    def close(self) -> None:
        """Stops the workers. Batches that are lent stay as they are."""
        if self._loader is not None:
            self._loader.close()
            self._loader = None

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def types(self) -> dict[str, str]:
        """The types of the features that are tensors of their own: those of the layout "columns", and lists."""
        decoded = self.encodings.decoders.types
        return {n: decoded.get(n) or self.dtype or (self._own(n) if self.layout == "columns" else "float32") for n in self.apart}

    def _own(self, name: str) -> str:
        """The type of number that a column's values are, or the items of its lists."""
        dtype = self.source.items.get(name) or self.schema[name]
        if dtype in _NUMBERS:
            return dtype
        if dtype == "bool" and name not in self.encodings.values:
            return "uint8"
        return "int32" if dtype in ("date32", "time32[s]", "time32[ms]") else "int64"


class _Open(Handle):
    """A loader of the library, and what its threads call, which must live as long as these."""

    __slots__ = ("_kept",)
    _free = "volley_loader_free"

    def keep(self, loader: Loader) -> None:
        """Keeps the functions of a loader. Its threads are ended before the interpreter, which they need."""
        self._kept = (loader.encodings.decoders, getattr(loader.source, "keep", None))
        _running.add(self)


_running: weakref.WeakSet[_Open] = weakref.WeakSet()


@atexit.register
def _end() -> None:
    for opened in list(_running):
        opened.close()


_told: set[str] = set()


def _warn(opened: _Open) -> None:
    """Passes on what a loader has to say, each thing once."""
    out = c_void_p()
    call("volley_loader_warning", opened, byref(out))
    if not out.value:
        return
    for text in _read(out).splitlines():
        if text not in _told:
            _told.add(text)
            warnings.warn(text, RuntimeWarning, stacklevel=4)


def _expression(e: Expr | str) -> Expr:
    return Expr(make("volley_expr_parse", encode(e))) if isinstance(e, str) else e


@public
class Batches:
    """A loader's batches as arrays of a framework, or as what transform makes of them: it is called with the parts as its arguments, and an error of
    it is that of the loop, which may go on after the batch. The other methods are the loader's."""

    _bare = ("next",)  # called for each batch

    def __init__(self, loader: Loader, convert: Callable[[BatchTensor], Any], transform: Transform | None) -> None:
        self.loader, self._convert, self._transform = loader, convert, transform
        self._parts = Parts(loader, convert.take) if isinstance(convert, Handed) else None

    def next(self) -> Any:
        """The next batch; None at the end of an epoch."""
        made = self._next()
        return None if made is None else self._changed(made)

    def __iter__(self) -> Iterator[Any]:
        while True:
            room = [self._next()]
            if room[0] is None:
                return
            yield self._changed(room.pop())  # or it would be held here while the loop works

    def _next(self) -> Any:
        if self._parts is not None:
            return self._parts.next()
        b = self.loader.next()
        return None if b is None else b.parts(self._convert)

    def _changed(self, made: Any) -> Any:
        if self._transform is None:
            return made
        return self._transform(*made) if isinstance(made, tuple) else self._transform(made)

    def __len__(self) -> int:
        return len(self.loader)

    def set_epoch(self, epoch: int) -> None:
        """See Loader.set_epoch."""
        self.loader.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """See Loader.state_dict."""
        return self.loader.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """See Loader.load_state_dict."""
        self.loader.load_state_dict(state)
