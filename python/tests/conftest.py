"""Where VOLLEY_REQUIRE names "partners" (python.sh does when it has installed all that tests import) a test that is skipped fails."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any, TypeVar

import pytest

REQUIRED = "partners" in os.environ.get("VOLLEY_REQUIRE", "").split(",")
Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


def _without_skips(report: Report) -> Report:
    if REQUIRED and report.skipped and not hasattr(report, "wasxfail"):
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome, report.longrepr = "failed", f"VOLLEY_REQUIRE=partners: {report.nodeid} skips itself: {why}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _without_skips((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: Any) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _without_skips((yield))
