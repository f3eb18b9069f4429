"""Builds the wheel: the package, and libvolley.so, which Go and a C compiler make here.

The C compiler is Zig's, from the PyPI package ziglang, which links with the C library of 2018 whatever the machine has: the wheel is a
manylinux_2_28 one, and the PyPI package auditwheel checks that it is. pip installs both for the time of the build. Where they are not there (pip's
--no-build-isolation), or VOLLEY_CC names another compiler, the library is linked with the C library that is here, the wheel has the tag of this
system and processor alone (linux_x86_64), and the build says so and why. VOLLEY_LIBRARY names a libvolley.so that is there already, with
VOLLEY_WHEEL_TAG for the platform that it was made for.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import os
import platform
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
ZIG, AUDITWHEEL = "ziglang==0.17.1", "auditwheel==6.8.2"
GLIBC = (2, 28)


def _target() -> str | None:
    """The processor as Zig and the tags of wheels name it, where there is a manylinux tag for it."""
    machine = platform.machine()
    return machine if sys.platform == "linux" and machine in ("x86_64", "aarch64") else None


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """What pip installs for the time of the build."""
    return [ZIG, AUDITWHEEL] if _target() and not os.environ.keys() & {"VOLLEY_LIBRARY", "VOLLEY_CC"} else []


def compiler() -> tuple[str | None, str]:
    """The C compiler that Go is given (None is Go's own choice), and the platform that what it links runs on."""
    here = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    given, target = os.environ.get("VOLLEY_CC"), _target()
    if given:
        why = f"VOLLEY_CC is {given}"
    elif target is None:
        why = f"manylinux is for Linux on x86_64 and aarch64, and this is {here}"
    elif missing := [p for p in (ZIG, AUDITWHEEL) if importlib.util.find_spec(p.split("==")[0]) is None]:
        why = f"there is no {' and no '.join(missing)} (pip install them, or build without --no-build-isolation)"
    else:
        version = ".".join(map(str, GLIBC))
        return f'"{sys.executable}" -m ziglang cc -target {target}-linux-gnu.{version}', f"manylinux_{version.replace('.', '_')}_{target}"
    print(f"volley: the wheel is for {here} with this machine's C library or a later one, and is no manylinux wheel: {why}", file=sys.stderr)
    return given, here


def audit(wheel: Path, tag: str) -> None:
    """Ends the build where auditwheel finds that the wheel wants a later C library than its tag says."""
    ran = subprocess.run([sys.executable, "-m", "auditwheel", "show", str(wheel)], capture_output=True, text=True)
    found = re.search(r'consistent with\s+the following platform tag: "manylinux_(\d+)_(\d+)_', " ".join(ran.stdout.split()))
    if ran.returncode != 0 or found is None or (int(found[1]), int(found[2])) > GLIBC:
        wheel.unlink()
        raise SystemExit(f"auditwheel: {wheel.name} is no {tag}:\n{ran.stdout}{ran.stderr}")


def _project() -> dict[str, str]:
    """The texts under [project]. Python 3.10, which may build, reads no TOML by itself."""
    section = (HERE / "pyproject.toml").read_text().split("[project]\n", 1)[1].split("\n[", 1)[0]
    return dict(re.findall(r'^([\w-]+) = "(.*)"$', section, re.MULTILINE))


def _library(folder: Path) -> tuple[Path, str]:
    """libvolley.so and its platform."""
    given = os.environ.get("VOLLEY_LIBRARY")
    if given:
        return Path(given), os.environ.get("VOLLEY_WHEEL_TAG") or sysconfig.get_platform().replace("-", "_").replace(".", "_")
    if shutil.which("go") is None:
        raise SystemExit("volley is built with Go, and there is no go on PATH: https://go.dev/doc/install")
    cc, where = compiler()
    made = folder / "libvolley.so.1"
    # -s twice: Go's linker leaves the symbols to the C compiler's, of which Zig's wants to be told.
    flags = f"-s -w -extldflags=-Wl,-s,--version-script={MODULE / 'cgo' / 'volley.map'},-soname,libvolley.so.1"
    environment = {**os.environ, "CGO_ENABLED": "1", "GOFLAGS": "-buildvcs=false", "GOWORK": "off"}
    if cc is not None:
        environment["CC"] = cc
    command = ["go", "build", "-buildmode=c-shared", "-trimpath", f"-ldflags={flags}", "-o", str(made), "./cgo"]
    subprocess.run(command, cwd=MODULE, env=environment, check=True)
    return made, where


def _licenses(library: bytes) -> dict[str, bytes]:
    """The licences of what the library links, by their paths in cgo/licenses. The library itself says what that is."""
    folder = MODULE / "cgo" / "licenses"
    modules = {m.decode() for m in re.findall(rb"\ndep\t([\w./~-]+)\t", library)} - {"github.com/volley-go/volley"}
    missing = sorted(m for m in {"go", *modules} if not any(p.is_file() for p in (folder / m).glob("*")))
    if missing:
        raise SystemExit(f"volley: cgo/licenses has no licence of {', '.join(missing)}, which the library links: go run ./internal/licenses")
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def _metadata(project: dict[str, str]) -> str:
    return (
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\nSummary: {project['description']}\n"
        f"Requires-Python: {project['requires-python']}\nLicense: {project['license']}\n"
    )


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Any = None) -> str:
    """The metadata alone, so that pip need not build a wheel to read it."""
    project = _project()
    info = Path(metadata_directory) / f"{project['name']}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(_metadata(project))
    return info.name


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Builds the wheel, as PEP 517 has it."""
    project = _project()
    stem = f"{project['name']}-{project['version']}"
    with tempfile.TemporaryDirectory() as folder:
        library, where = _library(Path(folder))
        made = Path(wheel_directory) / f"{stem}-py3-none-{where}.whl"
        _pack(made, project, stem, f"py3-none-{where}", library)
    if where.startswith("manylinux") and importlib.util.find_spec("auditwheel"):
        audit(made, where)
    return made.name


def _pack(made: Path, project: dict[str, str], stem: str, tag: str, library: Path) -> None:
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as wheel:
        record = []

        def add(path: str, content: bytes) -> None:
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(content)}")
            info = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            wheel.writestr(info, content)

        for source in sorted((HERE / "volley").rglob("*")):
            if source.suffix == ".py" or source.name == "py.typed":
                add(source.relative_to(HERE).as_posix(), source.read_bytes())
        add("volley/libvolley.so.1", library.read_bytes())
        info = f"{stem}.dist-info"
        add(f"{info}/METADATA", _metadata(project).encode())
        add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: volley\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
        for legal in ("LICENSE", "NOTICE"):
            add(f"{info}/{legal}", (MODULE / legal).read_bytes())
        for path, text in _licenses(library.read_bytes()).items():
            add(f"{info}/licenses/{path}", text)
        record.append(f"{info}/RECORD,,")
        wheel.writestr(zipfile.ZipInfo(f"{info}/RECORD", (1980, 1, 1, 0, 0, 0)), "\n".join(record) + "\n")


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    """There is none: the sources of the library are the whole module's."""
    sys.exit("volley has no source distribution: build the wheel in the repository, pip install ./python")


if __name__ == "__main__":
    # backend.py FOLDER: the library alone, as the wheel has it; the tag of the platform that it was made for is printed.
    print(_library(Path(sys.argv[1]))[1])
