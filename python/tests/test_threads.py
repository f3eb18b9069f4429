"""How the library's threads are scheduled, on Linux, which is what wheels are built for."""

from __future__ import annotations

import subprocess
import sys

_COUNT = """
import os
before = set(os.listdir("/proc/self/task"))
import volley as vo

t = vo.Table({"x": [float(i) for i in range(5000)], "y": [i % 2 for i in range(5000)]})
for batch in vo.Loader(t, 64, labels="y", shuffle=True).numpy():
    del batch
policies = {task: os.sched_getscheduler(int(task)) for task in os.listdir("/proc/self/task")}
old = [policies[task] for task in policies if task in before]
new = [policies[task] for task in policies if task not in before]
print(set(old) == {os.SCHED_OTHER}, new.count(os.SCHED_BATCH), len(new))
"""


def test_the_librarys_threads_interrupt_nobody() -> None:
    """Those of the program stay as they were; who is woken to make a batch does not take the processor of who asks for one."""
    done = subprocess.run([sys.executable, "-c", _COUNT], check=True, capture_output=True, text=True, timeout=60)
    same, batch, new = done.stdout.split()
    assert same == "True"
    assert int(batch) >= 4 and 2 * int(batch) > int(new), done.stdout  # others are frameworks', and the signal watcher's
