"""What the values of a column come to together: sums, extremes, moments."""

from __future__ import annotations

from typing import Any

from .expr import Agg, col


class Reduced:
    """The reductions of a column, on its device: of the values that are not null.

    Those of a column without such values are None, counts are 0, any is False and all is True. A NaN makes sum, mean, var and std NaN; min and max
    leave it out where there are other values. A type that a reduction has no meaning for is an error that names it.
    """

    __slots__ = ()

    def _reduced(self, of: Agg) -> Any:
        rows: Any = self.to_frame("values")  # type: ignore[attr-defined]
        return rows.lazy().on(rows.device).agg(result=of).collect().column("result").to_pylist()[0]

    def sum(self) -> Any:
        """Adds up: integers as an int of 64 bits, decimals as a Decimal of 38 digits, floats as a float, of bools how many are true. What does not fit is an error.

        >>> from volley import Column
        >>> Column([1, None, 3]).sum(), Column([0.5, 0.25]).sum()
        (4, 0.75)
        """
        return self._reduced(col("values").sum())

    def product(self) -> Any:
        """Multiplies, with the types of ``sum``; what does not fit is an error."""
        return self._reduced(col("values").product())

    def mean(self) -> Any:
        """The arithmetic mean as a float; of bools the share that is true."""
        return self._reduced(col("values").mean())

    def min(self) -> Any:
        """The least value."""
        return self._reduced(col("values").min())

    def max(self) -> Any:
        """The greatest value."""
        return self._reduced(col("values").max())

    def var(self, ddof: int = 1) -> Any:
        """The variance, of a sample unless ddof is 0; None of no more than ddof values."""
        return self._reduced(col("values").var(ddof))

    def std(self, ddof: int = 1) -> Any:
        """The standard deviation, of a sample unless ddof is 0; None of no more than ddof values."""
        return self._reduced(col("values").std(ddof))

    def count(self) -> int:
        """How many values are not null; len(column) counts them all."""
        return len(self) - int(self.null_count)  # type: ignore[arg-type,attr-defined]

    def n_unique(self) -> int:
        """How many distinct values there are that are not null: NaNs are one, -0 is 0."""
        return int(self._reduced(col("values").n_unique()))

    def any(self) -> bool:
        """Whether a bool is true."""
        return bool(self._reduced(col("values").any()))

    def all(self) -> bool:
        """Whether all bools are true, nulls aside."""
        return self._reduced(col("values").all()) is not False


__all__ = ["Reduced"]
