"""The samples in Python of README.md and docs/guide: each page is a program, and prints what the page says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
MARK = "\x1e"


def samples(page: Path) -> list[tuple[str, str]]:
    """The page's blocks of ```python, each with what follows it after "It prints:"; "" where nothing does."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```\n(?:\nIt prints:\n\n```\n(.*?)^```)?", text, re.DOTALL | re.MULTILINE)


def with_samples() -> list[Path]:
    return [page for page in PAGES if samples(page)]


def test_pages_have_samples() -> None:
    assert {"README.md", "start.md", "queries.md", "files.md", "python.md", "ranks.md", "tables.md", "engines.md", "training.md", "gpu.md", "extending.md"} <= {p.name for p in with_samples()}


@pytest.mark.parametrize("page", with_samples(), ids=lambda page: page.name)
def test_samples(page: Path, tmp_path: Path) -> None:
    blocks = samples(page)
    program = f'\nprint("{MARK}")\n'.join(code for code, _ in blocks)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "PYTHONIOENCODING": "utf-8", "OUT": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, encoding="utf-8", check=False, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    printed = ran.stdout.split(MARK + "\n")
    assert len(printed) == len(blocks)
    for (code, said), got in zip(blocks, printed, strict=True):
        if said:
            assert got.strip().splitlines() == said.strip().splitlines(), code
        else:
            assert not got.strip(), f"the page does not say what this prints:\n{code}"


def test_tables_on_two_ranks(tmp_path: Path) -> None:
    """The sample of tables on ranks is one program for any number of ranks: two print what the page says of one."""
    [(code, said)] = samples(ROOT / "docs" / "guide" / "tables.md")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "PYTHONIOENCODING": "utf-8", "OUT": str(tmp_path)}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", code], cwd=ROOT, env=environment | {"VOLLEY_ADDRESS": f"file://{tmp_path}/meeting?rank={r}&size=2"}, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, encoding="utf-8",
        )
        for r in range(2)
    ]  # fmt: skip
    printed = [p.communicate(timeout=120) for p in ranks]
    assert [p.returncode for p in ranks] == [0, 0], printed
    assert printed[0][0].strip().splitlines() == said.strip().splitlines() and not printed[1][0]
    assert sorted(p.name for p in (tmp_path / "states-python").iterdir()) == ["part-00000.parquet", "part-00001.parquet"]
