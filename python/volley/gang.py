"""Gangs: workers that are started together, by this module or by an engine. Each has a rank, a ``Comm``, messages, and references to tables and values.

The start is a ``Gang``, each worker has a ``Worker``. A gang is there whole or not at all, and starts again whole, under the next generation.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import pickle
import struct
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Sequence
from ctypes import byref, c_int64, c_void_p
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _abi
from ._calls import say, shown
from ._library import Handle, call, encode, handle_of, library, long_call, long_make, long_text, make, take_number, take_text, texts
from ._vectors import numbers_of
from .comm import Comm, Grouped
from .errors import CallFailed, CollectiveFault, VolleyError
from .table import Table

if TYPE_CHECKING:
    from typing_extensions import Self

# The variable of the environment by which a worker knows its place.
VARIABLE = "VOLLEY_GANG"
# The rank of the start, as a partner of messages.
ORIGIN = -1

_PICKLE, _CLOUD = "pickle", "cloudpickle"


def _packed(value: Any, module: Any = pickle) -> bytes:
    """A value as bytes: its pickle, and the buffers beside it."""
    buffers: list[pickle.PickleBuffer] = []
    head = module.dumps(value, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(head), *(b.raw() for b in buffers)]
    return b"".join([struct.pack("<Q", len(parts)), *(struct.pack("<Q", p.nbytes) for p in parts), *parts])


def _unpacked(data: memoryview) -> Any:
    """The value of such bytes, over their memory."""
    (count,) = struct.unpack_from("<Q", data)
    lengths = struct.unpack_from(f"<{count}Q", data, 8)
    at = 8 * (count + 1)
    parts = []
    for n in lengths:
        parts.append(data[at : at + n])
        at += n
    return pickle.loads(parts[0], buffers=parts[1:])  # noqa: S301 - of a member of the gang


def _block(codec: c_void_p, data: c_void_p, count: int) -> tuple[str, memoryview]:
    """Bytes that the library hands out, and what they are."""
    name = ctypes.string_at(codec.value or 0).decode()
    library().volley_string_free(codec)
    return name, _taken(data, count)


def _taken(data: c_void_p, count: int) -> memoryview:
    taken = memoryview(ctypes.string_at(data.value or 0, count))
    library().volley_string_free(data)
    return taken


def _value(codec: str, data: memoryview) -> Any:
    if codec in (_PICKLE, _CLOUD):
        return _unpacked(data)
    if codec == "bytes":
        return bytes(data)
    if codec == "ref":
        return Ref(bytes(data).decode())
    if codec == "json":
        import json

        return json.loads(bytes(data))
    raise VolleyError(say(f"a value that is encoded as {codec!r}, which Python does not read"))


class Ref:
    """A reference to a value that stays with its holder. It may be pickled, and means the same to every member of the gang."""

    __slots__ = ("_at", "text")

    def __init__(self, text: str, at: _Place | None = None) -> None:
        self.text = text
        self._at = at

    def __repr__(self) -> str:
        return f"<Ref {self.text}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ref) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __reduce__(self) -> Any:
        return Ref, (self.text,)

    @property
    def rank(self) -> int:
        """The holder, of the first part."""
        return int(self.text.rpartition("#")[2].split(",")[0].split(".")[0])

    def get(self) -> Any:
        """Fetches the value, where the reference came from a ``Gang`` or a ``Worker`` of this process; else ask one for it."""
        if self._at is None:
            raise VolleyError(say("this reference came from elsewhere: g.get(ref), or w.get(ref), fetches it"))
        return self._at.get(self)


def union(refs: Iterable[Ref]) -> Ref:
    """One reference to the parts of several, in their order: of tables that lie on several ranks."""
    given = list(refs)
    if not given or len({r.text.split("/")[0] for r in given}) != 1:
        raise ValueError(say("references of one gang and generation are wanted"))
    head = given[0].text.rpartition("#")[0]
    return Ref(head + "#" + ",".join(r.text.rpartition("#")[2] for r in given), given[0]._at)


class _Place(Grouped):
    """What the start and the workers have in common."""

    __slots__ = ()
    _free = "volley_gang_free"
    _fault = "volley_gang_fault"
    _stays = "it is this process's place in a gang"
    _outlives = True

    def __enter__(self) -> Self:
        return self

    def _explained(self, operation: Callable[[], None]) -> None:
        try:
            super()._explained(operation)
        except CallFailed as e:
            found = self.fault()
            if found:
                e.ranks = found[1]
            raise

    def _do(self, name: str, *args: Any, outs: Sequence[Any] = ()) -> None:
        self._explained(lambda: long_call("volley_gang_" + name, [self._handle, *args], outs))

    def _made(self, name: str, *args: Any, free: str) -> int:
        made: list[int] = []
        self._explained(lambda: made.append(long_make("volley_gang_" + name, self, *args, free=free)))
        return made[0]

    @property
    def size(self) -> int:
        """How many workers there are."""
        return take_number("volley_gang_size", self)

    @property
    def generation(self) -> int:
        """Which start of the gang this is: 1 is the first."""
        return take_number("volley_gang_generation", self)

    def send(self, to: int, tag: int, message: Any) -> None:
        """Sends bytes, or anything that can be pickled, with a tag. It does not wait for the receiver. The rank of the start is ``ORIGIN``."""
        data = _packed(message)
        self._do("send", to, tag, data, len(data))

    def recv(self, source: int, tag: int) -> Any:
        """Receives the next message of a rank with a tag. A CollectiveFault names the rank if that has gone."""
        data, count = c_void_p(), c_int64()
        self._do("receive", source, tag, outs=[byref(data), byref(count)])
        return _unpacked(_taken(data, count.value))

    def put(self, name: str, value: Any) -> Ref:
        """Keeps a value here, under a name, and gives the reference by which others get it. Of a table nothing is copied."""
        if isinstance(value, Table):
            return Ref(take_text("volley_gang_put_table", self, encode(name), value), self)
        codec, data = ("bytes", value) if isinstance(value, bytes) else (_PICKLE, _packed(value))
        return Ref(take_text("volley_gang_put", self, encode(name), encode(codec), data, len(data)), self)

    def get(self, ref: Ref) -> Any:
        """Fetches a value: on one machine tables are shared, not copied. Of a reference to several parts it is the table of all rows."""
        table, codec, data, count = c_void_p(), c_void_p(), c_void_p(), c_int64()
        self._do("get", encode(_text(ref)), outs=[byref(table), byref(codec), byref(data), byref(count)])
        if table.value:
            return Table._of(table.value)
        return _value(*_block(codec, data, count.value))

    def drop(self, ref: Ref) -> None:
        """Has the holder forget a value."""
        self._do("drop", encode(_text(ref)))


def _text(ref: Any) -> str:
    if not isinstance(ref, Ref):
        raise TypeError(say(f"a Ref is wanted, not {shown(ref)}", ref))
    return ref.text


def _named(function: Any) -> tuple[str, Any]:
    """The name of a function for workers, and the module that pickles the call: cloudpickle for what workers cannot import."""
    if isinstance(function, str):
        if function.count(":") != 1:
            raise ValueError(say(f'"module:function" is wanted, not {function!r}'))
        return function, pickle
    if not callable(function):
        raise TypeError(say(f'a function or "module:function" is wanted, not {shown(function)}', function))
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if module not in (None, "__main__") and "<" not in name:
        return f"{module}:{name}", pickle
    try:
        return "", importlib.import_module("cloudpickle")
    except ImportError:
        what = name or shown(function)
        raise VolleyError(say(f'workers cannot import {what}: put it into a module, as "module:function", or install cloudpickle')) from None


class Gang(_Place):
    """The start of a gang: it runs functions on all workers and has references to what they give.

    >>> import volley as vo
    >>> with vo.gang.start(2) as g:
    ...     [r.get() for r in g.run("math:sqrt", 16.0)]
    [4.0, 4.0]
    """

    __slots__ = ()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<Gang of {self.size}>" if self._value is not None else "<Gang, stopped>"

    def run(self, function: str | Callable[..., Any], *args: Any, **kwargs: Any) -> list[Ref]:
        """Runs a function on all workers, with the same arguments, and gives a reference to each one's result; a table stays where it is.

        The function is "module:function", or one that workers can import; others need cloudpickle. CallFailed is what it raised on a worker, and the others'
        calls are canceled; a CollectiveFault names a worker that has gone, and then ``restart`` starts all anew.
        """
        name, module = _named(function)
        data = _packed((function if not name else None, args, kwargs), module)
        lines: list[str] = []
        self._explained(lambda: lines.extend(long_text("volley_gang_run", self, encode(name), encode(_PICKLE), data, len(data)).split("\n")))
        return [Ref(line, self) for line in lines]

    def invitation(self, rank: int) -> str:
        """What a worker that somebody else starts has in VOLLEY_GANG, or gives to ``enter``."""
        return take_text("volley_gang_invitation", self, rank)

    def ready(self) -> None:
        """Waits until all workers have come that somebody else starts."""
        self._do("ready")

    def restart(self) -> None:
        """Ends all workers at once and starts them anew, under the next generation."""
        self._do("restart")

    def stop(self) -> None:
        """Tells the workers that it is over and waits for their ends."""
        if self._value is not None:
            self._do("stop")
            self.close()


class Worker(_Place):
    """A worker's place in a gang."""

    __slots__ = ()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Worker {self.rank} of {self.size}>" if self._value is not None else "<Worker, left>"

    @property
    def rank(self) -> int:
        """This worker's number, from 0."""
        return take_number("volley_gang_rank", self)

    @property
    def comm(self) -> Comm:
        """The Comm of all workers, which they make together when each of them asks for it first. After a call that failed there is a new one."""
        return Comm._of(self._made("comm", free="volley_comm_free"))

    def group(self, id: str, ranks: Sequence[int]) -> Comm:
        """A Comm of some workers, who alone call this, with the same ranks and an id that no other group has. It sends nothing and waits for nobody."""
        listed = numbers_of("ranks", ranks)
        return Comm._of(self._made("group", encode(id), listed, len(listed), free="volley_comm_free"))

    def redistribute(self, ref: Ref, ranks: Sequence[int] = ()) -> Table:
        """This worker's part of a table that lies in parts: all workers, or those named, have parts of equal length, in order."""
        listed = numbers_of("ranks", ranks)
        return Table._of(self._made("redistribute", encode(_text(ref)), listed, len(listed), free="volley_table_free"))

    def serve(self) -> None:
        """Runs what the start calls, until the gang stops."""
        before = getattr(_here, "worker", None)
        _here.worker = self
        try:
            while self._serve_one():
                pass
        finally:
            _here.worker = before

    def _serve_one(self) -> bool:
        number, name, codec, data, count = c_int64(), c_void_p(), c_void_p(), c_void_p(), c_int64()
        try:
            self._do("next", outs=[byref(number), byref(name), byref(codec), byref(data), byref(count)])
        except VolleyError:
            found = self.fault()
            if found == ("left", [ORIGIN]):
                return False
            raise
        what = ctypes.string_at(name.value or 0).decode()
        library().volley_string_free(name)
        try:
            _, packed = _block(codec, data, count.value)
            result = _perform(what, packed)
            ref = result if isinstance(result, Ref) else self.put(what, result)
            call("volley_gang_answer", self, number, encode(ref.text), None)
        except (Exception, SystemExit) as e:  # what the function raises is the call's answer, and sys.exit does not end the worker
            text = encode(traceback.format_exc().replace("\0", "\\0"))
            if isinstance(e, CollectiveFault) and e.cause:
                ranks = numbers_of("ranks", e.ranks)
                call("volley_gang_answer_fault", self, number, text, encode(e.cause), ranks, len(ranks))
            else:
                call("volley_gang_answer", self, number, None, text)
        return True


_here = threading.local()  # an engine may have several workers in one process


def current() -> Worker:
    """The place of the worker that runs this function."""
    found: Worker | None = getattr(_here, "worker", None)
    if found is None:
        raise VolleyError(say("no worker of a gang is running this"))
    return found


def _perform(name: str, data: memoryview) -> Any:
    function, args, kwargs = _unpacked(data)
    if name:
        module, _, path = name.partition(":")
        function = importlib.import_module(module)
        for part in path.split("."):
            function = getattr(function, part)
    return function(*args, **kwargs)


class Slots(Handle):
    """So many places that the gangs of this process compete for: a gang has one for each worker while it is there.

    ``start`` waits until all that it needs are free, in the order in which gangs came, so that two never wait for each other's.
    """

    __slots__ = ()
    _free = "volley_slots_free"

    def __init__(self, count: int) -> None:
        super().__init__(make("volley_slots_new", count))


def _options(workers: int, host: str | None, lease: float | None, join_timeout: float | None, grace: float | None, generation: int, folder: str | None, slots: Slots | None) -> Any:
    def ms(seconds: float | None) -> int:
        return 0 if seconds is None else max(1, round(1000 * seconds))

    options: Any = _abi.volley_gang_options
    return options(
        size=ctypes.sizeof(_abi.volley_gang_options), workers=workers, host=None if host is None else encode(host), lease=ms(lease), join_timeout=ms(join_timeout),
        grace=ms(grace), generation=generation, folder=None if folder is None else encode(folder),
        slots=None if slots is None else handle_of(slots, "a Slots"),
    )  # fmt: skip


def start(
    workers: int,
    command: Sequence[str] | None = None,
    *,
    invite: bool = False,
    host: str | None = None,
    lease: float | None = None,
    join_timeout: float | None = None,
    grace: float | None = None,
    generation: int = 0,
    folder: str | None = None,
    slots: Slots | None = None,
) -> Gang:
    """Starts workers, and returns when all of them are there: processes of this interpreter that run what ``Gang.run`` says, or of a command.

    With invite it starts none: somebody else does, who hands each its ``Gang.invitation``, and ``Gang.ready`` waits for them. host is where the start listens, as
    workers on other machines reach it: "*" is the first address that is not loopback, on an interface that VOLLEY_SOCKET_IFNAME allows; lease is for how many
    seconds a worker may be silent; slots are places that the gangs of this process compete for, of which it waits for one for each worker. A gang that cannot be
    placed whole is an Unavailable, and none.
    """
    options = _options(workers, host, lease, join_timeout, grace, generation, folder, slots)
    if invite:
        words: Sequence[str] = ()
    elif command is None:
        words = [sys.executable, "-c", f"import sys; sys.path[:0] = {[p for p in sys.path if p]!r}; from volley.gang import _work; _work()"]
    else:
        words = command
    return Gang(long_make("volley_gang_start", texts(words), len(words), byref(options), free="volley_gang_free"))


def enter(invitation: str | None = None) -> Worker:
    """Takes a worker's place: that of VOLLEY_GANG, or of an invitation. It returns when all workers have. Stale is the error where the gang is of a newer generation."""
    return Worker(long_make("volley_gang_enter", None if invitation is None else encode(invitation), free="volley_gang_free"))


def _work() -> None:
    """What a process does that ``start`` has started."""
    with enter() as w:
        ended = threading.Thread(target=_end_with, args=(w,), daemon=True)
        ended.start()
        w.serve()


def _end_with(w: Worker) -> None:
    """Ends the process when its gang has ended, also where a function goes on."""
    library().volley_gang_wait(w._handle, None)
    threading.Event().wait(5)
    os._exit(70)


__all__ = ["ORIGIN", "VARIABLE", "Gang", "Ref", "Slots", "Worker", "current", "enter", "start", "union"]
