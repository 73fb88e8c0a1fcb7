"""What the wheel requires is locked for where the wheel runs, what its build requires for where it is built."""

from __future__ import annotations

import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from torchbuild.cli.locking import _resolver
from torchbuild.cli.recipe_files import read_recipe
from torchbuild.edges import package_index
from torchbuild.resolve.glibc import run_time_glibc


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An index in a folder, with one project that has a wheel for an old C library and a newer one for a new."""
    page = tmp_path / "simple" / "native"
    page.mkdir(parents=True)
    names = [
        f"native-{version}-cp313-cp313-manylinux_{minor}_x86_64.whl"
        for version, minor in (("1.0", "2_28"), ("2.0", "2_34"))
    ]
    for name in names:
        _, version, *_ = name.split("-")
        with zipfile.ZipFile(page / name, "w") as wheel:
            wheel.writestr("native.py", "")
            info = f"native-{version}.dist-info"
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: native\nVersion: {version}\n\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: false\n")
            wheel.writestr(f"{info}/RECORD", "")
    (page / "index.html").write_text("".join(f'<a href="{name}">{name}</a>' for name in names))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    return (tmp_path / "simple").as_uri()


@pytest.mark.parametrize(("target", "version"), [("2.28", "1.0"), ("2.36", "2.0"), ("", "2.0")])
def test_a_requirement_fits_the_oldest_target(recipe: Path, index: str, target: str, version: str) -> None:
    """A wheel for an old system does not depend on packages that the old system cannot install."""
    wanted = read_recipe(recipe, overrides=(f"target.glibc='{target}'",) if target else ())
    there: Any = SimpleNamespace(mirrors=SimpleNamespace(index_url=index))
    survey: Any = SimpleNamespace(python=SimpleNamespace(version="3.13.5", soabi="cpython-313"))
    glibc = run_time_glibc(wanted.target.glibc, "2.41")

    (found,) = _resolver(wanted, survey, there)(("native",), (), glibc)

    assert found.name.startswith(f"native-{version}-")


def test_pip_is_asked_once_a_lock(recipe: Path, index: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To start it costs half a second each time, and it says the same each time."""
    for name in ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    asked: list[str] = []
    monkeypatch.setattr(package_index, "machine_authorities", lambda: asked.append("") or "")
    there: Any = SimpleNamespace(mirrors=SimpleNamespace(index_url=index))
    survey: Any = SimpleNamespace(python=SimpleNamespace(version="3.13.5", soabi="cpython-313"))
    resolve = _resolver(read_recipe(recipe), survey, there)

    assert resolve(("native",), (), "2.41") == resolve(("native",), (), "2.34")
    assert len(asked) == 1
