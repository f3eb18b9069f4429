"""Builds the wheel: the package, and libvolley.so, which Go and a C compiler make here. It wants nothing from PyPI.

The wheel's name says what it runs on. By default that is this machine's system and processor (linux_x86_64), since the library is linked with the
C library that is here; VOLLEY_WHEEL_TAG names another tag, for builds in an image that such a tag stands for (manylinux_2_28_x86_64). VOLLEY_LIBRARY
names a libvolley.so that is there already, and nothing is built.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
MODULE = HERE.parent


def _project() -> dict[str, str]:
    """The texts under [project]. Python 3.10, which may build, reads no TOML by itself."""
    section = (HERE / "pyproject.toml").read_text().split("[project]\n", 1)[1].split("\n[", 1)[0]
    return dict(re.findall(r'^([\w-]+) = "(.*)"$', section, re.MULTILINE))


def _library(folder: Path) -> Path:
    given = os.environ.get("VOLLEY_LIBRARY")
    if given:
        return Path(given)
    if shutil.which("go") is None:
        raise SystemExit("volley is built with Go, and there is no go on PATH: https://go.dev/doc/install")
    made = folder / "libvolley.so.1"
    flags = f"-s -w -extldflags=-Wl,--version-script={MODULE / 'cgo' / 'volley.map'},-soname,libvolley.so.1"
    environment = {**os.environ, "CGO_ENABLED": "1", "GOFLAGS": "-buildvcs=false", "GOWORK": "off"}
    command = ["go", "build", "-buildmode=c-shared", "-trimpath", f"-ldflags={flags}", "-o", str(made), "./cgo"]
    subprocess.run(command, cwd=MODULE, env=environment, check=True)
    return made


def _tag() -> str:
    platform = os.environ.get("VOLLEY_WHEEL_TAG") or sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"py3-none-{platform}"


def _metadata(project: dict[str, str]) -> str:
    return (
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\nSummary: {project['description']}\n"
        f"Requires-Python: {project['requires-python']}\nLicense: {project['license']}\n"
    )


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Builds the wheel, as PEP 517 has it."""
    project, tag = _project(), _tag()
    stem = f"{project['name']}-{project['version']}"
    name = f"{stem}-{tag}.whl"
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        record = []

        def add(path: str, content: bytes) -> None:
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(content)}")
            info = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            wheel.writestr(info, content)

        for source in sorted((HERE / "volley").iterdir()):
            if source.suffix == ".py" or source.name == "py.typed":
                add(f"volley/{source.name}", source.read_bytes())
        add("volley/libvolley.so.1", _library(Path(folder)).read_bytes())
        info = f"{stem}.dist-info"
        add(f"{info}/METADATA", _metadata(project).encode())
        add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: volley\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
        for legal in ("LICENSE", "NOTICE"):
            add(f"{info}/{legal}", (MODULE / legal).read_bytes())
        record.append(f"{info}/RECORD,,")
        wheel.writestr(zipfile.ZipInfo(f"{info}/RECORD", (1980, 1, 1, 0, 0, 0)), "\n".join(record) + "\n")
    return name


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    """There is none: the sources of the library are the whole module's."""
    sys.exit("volley has no source distribution: build the wheel in the repository, pip install ./python")
