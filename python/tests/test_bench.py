"""volley.bench: it runs, and a thousand queries leave nothing behind."""

import json
import subprocess
import sys

from volley import bench


def test_memory_is_returned_after_a_thousand_runs() -> None:
    made = bench.memory(1000)
    assert made["objects after"] == made["objects before"]
    assert made["bytes after"] - made["bytes before"] < 48 << 20  # what the runs made was more than a gigabyte


def test_it_runs() -> None:
    ran = subprocess.run([sys.executable, "-m", "volley.bench", "--json", "--calls", "50", "--memory-runs", "3"], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    figures = json.loads(ran.stdout)
    assert all(v > 0 for v in figures["overhead"].values()) and len(figures["overhead"]) == 5 and figures["memory"]["runs"] == 3
    wrong = subprocess.run([sys.executable, "-m", "volley.bench", "--go", "x"], capture_output=True, text=True, timeout=120)
    assert wrong.returncode == 2 and "--flights" in wrong.stderr
