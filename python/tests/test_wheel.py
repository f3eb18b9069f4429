"""The build of the wheel: which compiler it takes, what it says, and that a library that wants too new a C library is no manylinux wheel."""

import importlib.util
import pathlib
import subprocess
import sys
import sysconfig
import types
import zipfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent.parent
LINUX = sysconfig.get_platform().replace("-", "_").replace(".", "_")


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    for name in ("VOLLEY_CC", "VOLLEY_LIBRARY", "VOLLEY_WHEEL_TAG"):
        monkeypatch.delenv(name, raising=False)
    spec = importlib.util.spec_from_file_location("backend", HERE / "_build" / "backend.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_zig_is_the_compiler_where_it_is_there(backend: types.ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    cc, where = backend.compiler()
    assert "ziglang cc -target" in cc and cc.endswith("-linux-gnu.2.28") and where.startswith("manylinux_2_28_")
    assert capsys.readouterr().err == ""
    assert [r.split("==")[0] for r in backend.get_requires_for_build_wheel()] == ["ziglang", "auditwheel"]


def test_another_compiler_is_said(backend: types.ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert backend.compiler() == (None, LINUX)
    assert "no manylinux wheel: there is no ziglang" in capsys.readouterr().err
    monkeypatch.setenv("VOLLEY_CC", "gcc-99")
    assert backend.compiler() == ("gcc-99", LINUX) and backend.get_requires_for_build_wheel() == []
    assert "VOLLEY_CC is gcc-99" in capsys.readouterr().err
    monkeypatch.delenv("VOLLEY_CC")
    monkeypatch.setattr(backend.platform, "machine", lambda: "riscv64")
    assert backend.compiler() == (None, LINUX)
    assert "manylinux is for" in capsys.readouterr().err


@pytest.mark.parametrize(("glibc", "fits"), [("2.28", True), ("2.34", False)])
def test_auditwheel_looks(backend: types.ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, glibc: str, fits: bool) -> None:
    source, library = tmp_path / "l.c", tmp_path / "l.so"
    # pthread_create has a new version since 2.34.
    source.write_text("#include <pthread.h>\nint volley_start(pthread_t *t, void *(*f)(void *)) { return pthread_create(t, 0, f, 0); }\n")
    target = f"{backend._target()}-linux-gnu.{glibc}"
    subprocess.run([sys.executable, "-m", "ziglang", "cc", "-target", target, "-shared", "-fPIC", "-o", library, source, "-lpthread"], check=True)
    tag = backend.compiler()[1]
    monkeypatch.setenv("VOLLEY_LIBRARY", str(library))
    monkeypatch.setenv("VOLLEY_WHEEL_TAG", tag)
    if fits:
        name = backend.build_wheel(str(tmp_path))
        assert name == f"volley-0.1.0-py3-none-{tag}.whl"
        with zipfile.ZipFile(tmp_path / name) as wheel:
            names = wheel.namelist()
            assert {"volley/__init__.py", "volley/py.typed", "volley/libvolley.so.1"} <= set(names) and wheel.testzip() is None
            assert f"Tag: py3-none-{tag}\n" in wheel.read("volley-0.1.0.dist-info/WHEEL").decode()
    else:
        with pytest.raises(SystemExit, match="auditwheel: "):
            backend.build_wheel(str(tmp_path))
        assert not list(tmp_path.glob("*.whl"))


def wheel_of(backend: types.ModuleType, monkeypatch: pytest.MonkeyPatch, folder: pathlib.Path, linked: list[str]) -> zipfile.ZipFile:
    """The wheel of a library that says that it links some modules."""
    library = folder / "made.so"
    library.write_bytes(b"\x7fELF\0path\tgithub.com/volley-go/volley/cgo\nmod\tgithub.com/volley-go/volley\t(devel)\t\n" + b"".join(f"dep\t{m}\tv1.0.0\th1:x=\n".encode() for m in linked))
    monkeypatch.setenv("VOLLEY_LIBRARY", str(library))
    monkeypatch.setenv("VOLLEY_WHEEL_TAG", LINUX)
    return zipfile.ZipFile(folder / backend.build_wheel(str(folder)))


def test_the_wheel_has_the_licences_of_what_is_linked(backend: types.ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    with wheel_of(backend, monkeypatch, tmp_path, ["github.com/apache/arrow-go/v18", "golang.org/x/sys"]) as wheel:
        names = set(wheel.namelist())
        assert {f"volley-0.1.0.dist-info/licenses/{m}" for m in ("go/LICENSE", "github.com/apache/arrow-go/v18/NOTICE.txt", "golang.org/x/sys/LICENSE")} <= names
        assert "Apache License" in wheel.read("volley-0.1.0.dist-info/licenses/github.com/apache/arrow-go/v18/LICENSE.txt").decode()
    with pytest.raises(SystemExit, match="no licence of example.org/new, which the library links"):
        wheel_of(backend, monkeypatch, tmp_path, ["golang.org/x/sys", "example.org/new"])


def test_the_wheel_has_all_modules(backend: types.ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    """Also those in folders of the package."""
    with wheel_of(backend, monkeypatch, tmp_path, []) as wheel:
        packed = {n for n in wheel.namelist() if n.endswith(".py")}
        record = wheel.read("volley-0.1.0.dist-info/RECORD").decode()
    there = {p.relative_to(HERE).as_posix() for p in (HERE / "volley").rglob("*.py")}
    assert packed == there and {"volley/gang.py", "volley/engines/__init__.py", "volley/engines/dask.py"} <= packed
    assert all(f"{name},sha256=" in record for name in packed)


def test_metadata_takes_no_build(backend: types.ModuleType, tmp_path: pathlib.Path) -> None:
    name = backend.prepare_metadata_for_build_wheel(str(tmp_path))
    assert name == "volley-0.1.0.dist-info" and "Requires-Python: >=3.10\n" in (tmp_path / name / "METADATA").read_text()
