"""What the programs of all races ask of their own process."""

import ctypes
import gc
import sys
import time


def resident(key):
    """A line of /proc/self/status in bytes."""
    with open("/proc/self/status") as f:
        for line in f:
            if line.startswith(key + ":"):
                return int(line.split()[1]) << 10
    raise OSError(f"/proc/self/status has no {key}")


def rest():
    """Waits, a second at most, until the process rests: threads of a library that look for more work would slow the next engine down."""
    for _ in range(100):
        cpu = time.process_time()
        time.sleep(0.01)
        if time.process_time() - cpu < 0.001:
            return


def at_rest():
    """The resident memory after all that is not needed was given back to the system, as far as the allocators do that; the peak begins there."""
    gc.collect()
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim:
        trim(0)
    rest()
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")
    return resident("VmRSS")
