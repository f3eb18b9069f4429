"""The library behind the package: loaded at first use, so that a process may fork before that; every call of it releases the GIL."""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
from collections.abc import Iterable, Sequence
from ctypes import byref, c_char_p, c_int64, c_void_p
from pathlib import Path
from typing import Any, ClassVar, SupportsIndex

from . import _abi
from ._calls import in_words, public, say, shown
from ._drivers import keep_apart
from ._numbers import check_arguments
from .errors import OF_KIND, OF_STATUS, Closed, Internal, VolleyError
from .progress import watch, watcher

# How long a call keeps the interpreter from seeing a signal, in milliseconds.
PATIENCE = 20

_lock = threading.Lock()
_loaded: ctypes.CDLL | None = None
_tokens: list[c_void_p] = []


def library() -> ctypes.CDLL:
    """The library, loaded when it is first asked for. VOLLEY_LIBRARY names another file than the package's own."""
    global _loaded
    if _loaded is None:
        with _lock:
            if _loaded is None:
                path = os.environ.get("VOLLEY_LIBRARY") or str(Path(__file__).with_name("libvolley.so.1"))
                lib = ctypes.CDLL(path)
                lib.volley_abi_version.restype = ctypes.c_uint32
                version = lib.volley_abi_version()
                if version >> 16 != _abi.ABI_MAJOR or version & 0xFFFF < _abi.ABI_MINOR:
                    raise ImportError(f"{path} has interface {version >> 16}.{version & 0xFFFF}, this package wants {_abi.ABI_MAJOR}.{_abi.ABI_MINOR}")
                _abi.declare(lib)
                _begin(lib)
                keep_apart()
                _loaded = lib
    return _loaded


def _begin(lib: ctypes.CDLL) -> None:
    """Tells the library CPython's functions, by which its callbacks know whether the interpreter is there."""
    names = [field[0] for field in _abi.volley_python._fields_[1:]]
    addresses = {name: ctypes.cast(getattr(ctypes.pythonapi, name), c_void_p).value for name in names}
    given = _abi.volley_python(size=ctypes.sizeof(_abi.volley_python), **addresses)
    if lib.volley_python_begin(byref(given)) != _abi.OK:
        raise ImportError((lib.volley_last_error().contents.message or b"").decode("utf-8", "replace"))


# How long an interpreter that ends waits for the program's functions that the library is calling, in milliseconds.
_END = 5000


@atexit.register
def _end() -> None:
    """Ends the callbacks: from here on the library gives nothing of Python's back, and calls no function of the program's."""
    if _loaded is not None:
        _loaded.volley_python_end(_END)


def address(name: str) -> int:
    """Where a function of the library is, for a structure that has it called."""
    return ctypes.cast(getattr(library(), name), c_void_p).value or 0


increment = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", ctypes.pythonapi))
_drain: Any = None


def lend(keep: Any) -> int:
    """An object as the library's volley_python_release gives it back, when nobody needs it any more. What others gave back meanwhile goes now."""
    drain()
    increment(keep)
    return id(keep)


def drain() -> None:
    """Lets go of objects that were given back by threads without the GIL."""
    global _drain
    if _drain is None:
        _drain = ctypes.PYFUNCTYPE(None)(("volley_python_drain", library()))
    _drain()


def failure(status: int) -> VolleyError:
    """The exception of a status, with what the library says about it."""
    e = library().volley_last_error().contents
    text = in_words((e.message or b"").decode("utf-8", "replace"))
    kind = (e.kind or b"").decode()
    made = (OF_KIND.get(kind) or OF_STATUS.get(status, Internal))(text, kind, (e.device or b"").decode())
    made.given = True
    return made


def call(name: str, *args: Any) -> None:
    """Calls a function that takes no time."""
    function = getattr(library(), name)
    check_arguments(function, args)
    try:
        status = function(*args)
    except ctypes.ArgumentError:
        raise _wrong(function, args) from None
    if status != _abi.OK:
        raise failure(status)


_WANTED = {ctypes.c_int64: "a whole number", ctypes.c_int32: "a whole number", ctypes.c_uint64: "a whole number", c_char_p: "a text"}


def _wrong(function: Any, args: Sequence[Any]) -> TypeError:
    """The error of an argument that C does not take: that it was closed, or what it has to be."""
    for a, kind in zip(args, function.argtypes):
        if isinstance(a, Handle):
            a._handle  # noqa: B018
        try:
            kind.from_param(a)
        except TypeError:
            return TypeError(say(f"{_WANTED.get(kind, 'an object of volley')} is wanted, not {shown(a)}", a))
    return TypeError(say(f"{shown(args)} are no arguments"))


def long_call(name: str, args: Sequence[Any], outs: Sequence[Any] = ()) -> None:
    """Calls a function that can take long: token and out parameters come last. On the main thread, which alone sees signals, it looks for
    them every 20 ms, and an exception from one, such as KeyboardInterrupt, cancels the operation."""
    lib = library()
    function = getattr(lib, name)
    check_arguments(function, args)
    try:
        who = watcher()
        if who is None and threading.current_thread() is not threading.main_thread():
            status = function(*args, None, *outs)
        else:
            status = _patient(lib, function, args, outs, who)
    except ctypes.ArgumentError:
        raise _wrong(function, args) from None
    if status != _abi.OK:
        raise failure(status)


def _patient(lib: ctypes.CDLL, function: Any, args: Sequence[Any], outs: Sequence[Any], who: tuple[Any, int] | None) -> int:
    try:
        token = _tokens.pop()
    except IndexError:
        token = c_void_p()
        call("volley_token_new", PATIENCE, byref(token))
    if who is not None:
        watch(lib, token, who)
    try:
        status: int = function(*args, token, *outs)
        while status == _abi.PENDING:
            status = lib.volley_token_wait(token)
    except BaseException:
        _give_up(lib, token)
        raise
    if who is not None:  # it may be cancelled
        lib.volley_token_free(token)
    else:
        _tokens.append(token)
    return status


def _give_up(lib: ctypes.CDLL, token: c_void_p) -> None:
    """Cancels the call of a token and waits for its end, whatever signals come meanwhile."""
    while True:
        try:
            lib.volley_token_cancel(token)
            while lib.volley_token_wait(token) == _abi.PENDING:
                pass
            lib.volley_token_free(token)
            return
        except BaseException:  # noqa: S112 - another Ctrl-C: the first one is on its way
            continue


def take_text(name: str, *args: Any) -> str:
    """Calls a function whose last parameter hands out a text."""
    out = c_void_p()
    call(name, *args, byref(out))
    return _read(out)


def long_text(name: str, *args: Any) -> str:
    """Calls a function that can take long and hands out a text."""
    out = c_void_p()
    long_call(name, args, [byref(out)])
    return _read(out)


def _read(out: c_void_p) -> str:
    text = ctypes.string_at(out.value or 0).decode()
    library().volley_string_free(out)
    return text


def take_number(name: str, *args: Any) -> int:
    """Calls a function whose last parameter hands out a number."""
    out = c_int64()
    call(name, *args, byref(out))
    return out.value


def texts(values: Iterable[str]) -> Any:
    """A list of texts as C takes it."""
    encoded = [encode(v) for v in values]
    return (c_char_p * max(1, len(encoded)))(*encoded)


def encode(value: str) -> bytes:
    """A text as C takes it: without NULs."""
    if not isinstance(value, str):
        raise TypeError(say(f"a str is wanted, not {shown(value)}", value))
    if "\0" in value:
        raise ValueError(say("a text with a NUL", value))
    return value.encode()


class Handle:
    """An object of the library, given back when Python forgets it, or by close."""

    __slots__ = ("_value", "__weakref__")
    _free: ClassVar[str]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        public(cls)

    def __init__(self, value: int) -> None:
        self._value: int | None = value

    @property
    def _handle(self) -> int:
        if self._value is None:
            raise self._closed()
        return self._value

    def _closed(self) -> Closed:
        return Closed(say(f"this {type(self).__name__.lstrip('_')} was closed", self), "closed")

    @property
    def _as_parameter_(self) -> int:
        """What ctypes hands to C for the object, which it keeps alive for the call."""
        return self._handle

    _stays: ClassVar[str] = "it belongs to this process"

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """An object is a number that means something in this process alone: what has no pickle of its own has none."""
        raise TypeError(f"a {type(self).__name__} cannot be pickled or copied: {self._stays}")

    def close(self) -> None:
        """Gives the object back now; later use is an error."""
        value, self._value = self._value, None
        if value is not None and _loaded is not None:
            getattr(_loaded, self._free)(value)
            drain()

    # Whether a process that ends gives the object back: what has a part in something outside of it.
    _outlives: ClassVar[bool] = False

    def __del__(self) -> None:
        try:
            # Memory goes with the process. A call into the library might wait for a thread of it that waits for the interpreter, which is ending.
            if self._value is not None and (self._outlives or not sys.is_finalizing()):
                self.close()
        except Exception:  # the interpreter is ending, or __init__ failed
            return


def handles(objects: Sequence[Handle]) -> Any:
    """A list of objects as C takes it. The caller keeps the objects."""
    return (c_void_p * max(1, len(objects)))(*[handle_of(o) for o in objects])


def handle_of(o: Any, what: str = "an object of volley") -> int:
    """An object as C takes it."""
    if not isinstance(o, Handle):
        raise TypeError(say(f"{what} is wanted, not {shown(o)}", o))
    return o._handle


def make(name: str, *args: Any) -> int:
    """Calls a function that makes an object."""
    out = c_void_p()
    call(name, *args, byref(out))
    return out.value or 0


def long_make(name: str, *args: Any, free: str) -> int:
    """Calls a function that can take long and makes an object."""
    out = c_void_p()
    lib = library()
    try:
        long_call(name, args, [byref(out)])
    except BaseException:
        if out.value:
            getattr(lib, free)(out)
        raise
    return out.value or 0


def live() -> int:
    """How many objects of the library are alive, for tests."""
    return take_number("volley_live")
