"""volley: columnar kernels, tables and readers on whatever processor is there.

>>> import volley as vo
>>> t = vo.Table({"state": ["WY", "IA", "WY"], "delay": [30, 5, 12]})
>>> t.group_by("state").agg(vo.col("delay").mean()).to_pydict()
{'state': ['WY', 'IA'], 'mean_delay': [21.0, 5.0]}
"""

import types as _types
import typing as _typing

from . import distributed
from ._calls import guarded as _guarded
from ._library import take_text as _take_text
from .column import Column
from .comm import Comm, Request
from .cumulative import cummax, cummin, cumprod, cumsum
from .device import Device, DeviceInfo, devices
from .errors import (
    CallFailed,
    Canceled,
    Closed,
    CollectiveFault,
    Forked,
    FormatError,
    Internal,
    InvalidValue,
    Lost,
    Mismatch,
    NotFound,
    OutOfMemory,
    Stale,
    Unavailable,
    Unsupported,
    VolleyError,
)
from .expr import Agg, Expr, coalesce, col, count, function, lit, sql, when
from .fusion import Fuser
from .loader import Batch, Loader
from .loader_map import BatchMap
from .matrix import Matrix, gemv, transpose
from .memory import Memory, memory, set_memory_limit
from .profile import Profile
from .progress import Progress, progress
from .query import Query, scan_csv, scan_ipc, scan_parquet
from .table import Table, concat, from_arrow, from_pandas, read_csv, read_ipc, read_parquet
from .user import register
from . import gang  # isort: skip - it needs the others

if _typing.TYPE_CHECKING:
    from . import engines
else:

    def __getattr__(name):
        """The engines, which few programs want, are loaded when they are first asked for."""
        if name != "engines":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import importlib

        return importlib.import_module(".engines", __name__)

    def __dir__():
        return sorted({*globals(), "engines"})


__version__ = "0.1.0"
"""The version of the package, which is pyproject's."""


def version() -> str:
    """The version of the library that is loaded, which is the package's."""
    return _take_text("volley_version")


__all__ = [
    "Agg", "Batch", "BatchMap", "CallFailed", "Canceled", "Closed", "CollectiveFault", "Column", "Comm", "Device", "DeviceInfo", "Expr", "Forked", "FormatError", "Fuser", "Internal",
    "InvalidValue", "Loader", "Lost", "Matrix", "Memory", "Mismatch", "NotFound", "OutOfMemory", "Profile", "Progress", "Query", "Request", "Stale", "Table", "Unavailable", "Unsupported",
    "VolleyError", "coalesce", "col", "concat", "count", "cummax", "cummin", "cumprod", "cumsum",
    "devices", "distributed", "engines", "from_arrow", "from_pandas", "function", "gang", "gemv", "lit", "memory", "progress", "read_csv", "read_ipc", "read_parquet", "register", "scan_csv", "scan_ipc", "scan_parquet", "set_memory_limit", "sql",
    "transpose", "version", "when",
]  # fmt: skip

for _name in __all__:
    if isinstance(globals().get(_name), _types.FunctionType):
        globals()[_name] = _guarded(globals()[_name], _name, False)
        globals()[_name].__module__ = __name__  # where a pickle finds it
