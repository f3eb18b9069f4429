"""OpenCL's drivers beside other packages that bring a compiler along."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from pathlib import Path

# Packages that hold a copy of LLVM, whose symbols they give to all libraries that are loaded after them.
COMPILERS = ("tensorflow",)


def _found(name: str) -> bool:
    """Whether the package is loaded, or is there. A hook of somebody's that forbids to import it raises instead of finding nothing."""
    try:
        return name in sys.modules or importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def keep_apart() -> None:
    """Loads OpenCL's drivers such that each sees its own libraries first, where a package of COMPILERS is loaded, or is there and may be later.

    A driver for processors, as PoCL is, has a compiler of its own, and would else call the functions of the other's, which ends the process. OpenCL's
    loader then finds the drivers loaded. One that cannot be is left to it: volley says what it says.
    """
    if not hasattr(os, "RTLD_DEEPBIND") or not any(_found(name) for name in COMPILERS):
        return
    folder = os.environ.get("OCL_ICD_VENDORS") or os.environ.get("OPENCL_VENDOR_PATH") or "/etc/OpenCL/vendors"
    for file in sorted(Path(folder).glob("*.icd")):
        try:
            ctypes.CDLL(file.read_text().strip(), mode=os.RTLD_NOW | os.RTLD_DEEPBIND)
        except (OSError, UnicodeDecodeError):
            continue
