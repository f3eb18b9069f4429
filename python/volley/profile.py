"""Profiles: what a run of a query measured."""

from __future__ import annotations

from ctypes import byref, c_void_p
from typing import TYPE_CHECKING

from ._calls import public
from ._library import Handle, call, encode, long_call, take_text

if TYPE_CHECKING:
    from .query import Query
    from .table import Table


@public
class Profile(Handle):
    """What a run of a query measured. Show it in a notebook, print it, or keep it as a file: ``open("p.html", "w").write(p.html())``."""

    __slots__ = ("table",)
    _free = "volley_profile_free"
    _stays = "it is of a run of this process: send its json"

    table: Table
    """The rows of the query."""

    @classmethod
    def _run(cls, query: Query) -> Profile:
        from .table import Table

        rows, measured = c_void_p(), c_void_p()
        try:
            long_call("volley_query_profile", [query], [byref(rows), byref(measured)])
        except BaseException:
            for made, free in ((rows, "volley_table_free"), (measured, "volley_profile_free")):
                if made.value:
                    call(free, made)
            raise
        p = cls(measured.value or 0)
        p.table = Table._of(rows.value or 0)
        return p

    def text(self) -> str:
        """The steps with their measures, the pipelines and the workers, as lines."""
        return self._shown("text")

    def json(self) -> str:
        """Plans, steps, pipelines and measures as JSON; times are in nanoseconds."""
        return self._shown("json")

    def html(self) -> str:
        """A page with the steps and a timeline of the workers. It loads nothing."""
        return self._shown("html")

    def chrome(self) -> str:
        """The times of all workers for chrome://tracing and Perfetto."""
        return self._shown("chrome")

    def _shown(self, format: str) -> str:
        return take_text("volley_profile_render", self, encode(format))

    def _repr_html_(self) -> str:
        return self._shown("fragment")

    def __repr__(self) -> str:
        return "<volley.Profile>" if self._value is None else self.text()
