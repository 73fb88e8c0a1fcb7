"""Requirements become exact wheels for the target, whatever this machine's own pip and uv are told."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from torchbuild.edges.requirements import resolve_requirements
from torchbuild.errors import FetchError, RecipeError

if TYPE_CHECKING:
    from collections.abc import Callable

TARGET = {"python_version": "3.13", "machine": "x86_64", "glibc": "2.28"}


def wheel(name: str, version: str, requires: tuple[str, ...]) -> bytes:
    """A wheel of one empty module."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": b"",
        f"{info}/METADATA": "\n".join(
            [
                "Metadata-Version: 2.1",
                f"Name: {name}",
                f"Version: {version}",
                *(f"Requires-Dist: {r}" for r in requires),
                "",
            ]
        ).encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b'=').decode()},{len(body)}"
        for path, body in files.items()
    ]
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for path, body in files.items():
            archive.writestr(path, body)
    return stream.getvalue()


class Index:
    """A package index on this machine."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.url = f"{server.url}/simple/"
        self.digests: dict[str, str] = {}

    def add(
        self, name: str, version: str, *requires: str, tag: str = "py3-none-any", fragment: str | None = None
    ) -> str:
        """Publish a wheel; its file name."""
        file, body = f"{name}-{version}-{tag}.whl", wheel(name, version, requires)
        self.server.files[f"/files/{file}"] = body
        self.digests[file] = hashlib.sha256(body).hexdigest()
        page = f"/simple/{name.replace('_', '-')}/"
        fragment = f"#sha256={self.digests[file]}" if fragment is None else fragment
        self.server.files[page] = (
            self.server.files.get(page, b"") + f'<a href="../../files/{file}{fragment}">{file}</a>\n'.encode()
        )
        self.server.types[page] = "text/html"
        return file

    def resolve(self, *requirements: str, **other: Any) -> list[str]:
        """The files that are chosen."""
        return [artifact.name for artifact in self.artifacts(*requirements, **other)]

    def artifacts(self, *requirements: str, **other: Any) -> tuple[Any, ...]:
        """What is chosen."""
        return resolve_requirements(requirements, **{**TARGET, "index_url": self.url, **other})


@pytest.fixture
def index(
    web_server: Any, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Index:
    """An empty index, and an empty cache of the resolver."""
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "uv-cache"))
    return Index(web_server)


def test_wheels_come_with_their_requirements(index: Index) -> None:
    """The wheel and what it requires, by neutral locator and digest, sorted; no host stays in them."""
    top = index.add("top_part", "1.0", "below>=2")
    below = index.add("below", "2.1")
    found = index.artifacts("Top.Part")
    assert [artifact.locator for artifact in found] == [f"pypi:below/{below}", f"pypi:top-part/{top}"]
    assert [artifact.sha256 for artifact in found] == [index.digests[below], index.digests[top]]


def test_nothing_needs_nothing(index: Index) -> None:
    """No requirements, no question."""
    assert index.artifacts() == ()
    assert index.server.asked == []


def test_the_best_wheel_of_the_target_is_taken(index: Index) -> None:
    """Of many wheels of one version the target gets the one that pip would take there."""
    for tag in (
        "cp313-cp313-manylinux_2_34_x86_64",
        "cp313-cp313-musllinux_1_2_x86_64",
        "cp313-cp313-win_amd64",
        "cp312-cp312-manylinux_2_28_x86_64",
        "cp39-abi3-manylinux_2_28_x86_64",
        "py3-none-any",
        "cp313-cp313-manylinux_2_17_x86_64.manylinux2014_x86_64",
        "cp313-cp313-manylinux_2_28_aarch64",
    ):
        index.add("many", "1.0", tag=tag)
    assert index.resolve("many") == ["many-1.0-cp313-cp313-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"]
    assert index.resolve("many", glibc="2.36") == ["many-1.0-cp313-cp313-manylinux_2_34_x86_64.whl"]
    assert index.resolve("many", machine="aarch64") == ["many-1.0-cp313-cp313-manylinux_2_28_aarch64.whl"]
    assert index.resolve("many", python_version="3.12.4") == [
        "many-1.0-cp312-cp312-manylinux_2_28_x86_64.whl"
    ]
    assert index.resolve("many", python_version="3.10") == ["many-1.0-cp39-abi3-manylinux_2_28_x86_64.whl"]


def test_markers_are_the_targets(index: Index) -> None:
    """Whether a requirement applies is decided by the target, not by this machine."""
    index.add("only", "1.0")
    assert index.resolve('only; python_version >= "3.13"') == ["only-1.0-py3-none-any.whl"]
    assert index.resolve('only; platform_machine == "aarch64"') == []
    assert index.resolve('only; platform_machine == "aarch64"', machine="aarch64") == [
        "only-1.0-py3-none-any.whl"
    ]


def test_constraints_narrow(index: Index) -> None:
    """A constraint chooses an older version, and adds no package."""
    index.add("top", "1.0", "below<2")
    for version in ("1.0", "1.5", "2.0"):
        index.add("below", version)
    assert "below-1.5-py3-none-any.whl" in index.resolve("top")
    assert "below-1.0-py3-none-any.whl" in index.resolve("top", constraints=["below<1.2", "unused==9"])


def test_what_cannot_be_solved_is_told_in_the_resolvers_words(index: Index) -> None:
    """The error says which requirements exclude each other."""
    index.add("one", "1.0", "below<2")
    index.add("below", "1.0")
    index.add("below", "2.0")
    with pytest.raises(RecipeError) as caught:
        index.resolve("one", "below>=2")
    assert caught.value.reference == "requirements-unsolvable"
    assert "below" in " ".join(caught.value.why)


def test_a_package_without_a_fitting_wheel_ends_the_lock(index: Index) -> None:
    """A package that has wheels for other targets only is no silent gap, and no source is built for it."""
    index.add("binary", "1.0", tag="cp312-cp312-manylinux_2_28_x86_64")
    with pytest.raises(RecipeError) as caught:
        index.resolve("binary")
    assert caught.value.reference in {"requirements-unsolvable", "no-wheel-for-target"}
    assert "binary" in f"{caught.value.what} {' '.join(caught.value.why)}"


def test_a_name_that_nobody_has_is_named(index: Index) -> None:
    """A requirement that the index does not know."""
    with pytest.raises(RecipeError) as caught:
        index.resolve("nowhere")
    assert "nowhere" in " ".join(caught.value.why)


def test_digests_are_of_bytes_where_none_is_published(index: Index) -> None:
    """An index that publishes no digest still gives the wheel's own, computed from its bytes."""
    file = index.add("bare", "1.0", fragment="")
    assert [artifact.sha256 for artifact in index.artifacts("bare")] == [index.digests[file]]


def test_other_digests_are_not_taken_for_ours(index: Index) -> None:
    """An index that publishes only MD5 is refused by name."""
    index.add("bare", "1.0", fragment="#md5=d41d8cd98f00b204e9800998ecf8427e")
    with pytest.raises(FetchError) as caught:
        index.resolve("bare")
    assert caught.value.reference == "no-digest-published"


def test_an_index_that_is_down_is_no_conflict(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network's failure is not blamed on the recipe."""
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with pytest.raises(FetchError) as caught:
        index.resolve("x", index_url="http://127.0.0.1:1/simple")
    assert caught.value.reference == "index-not-reachable"


@pytest.mark.parametrize(
    "line",
    [
        "-r /etc/passwd",
        "--index-url=http://127.0.0.1:1/",
        "x @ http://127.0.0.1:1/x.whl",
        "./x",
        "x\n-r y",
        "",
        "x===",
    ],
)
def test_lines_that_bring_other_things_are_refused(index: Index, line: str) -> None:
    """Options, files, addresses and line breaks never reach the resolver."""
    for place in ("requirements", "constraints"):
        with pytest.raises(RecipeError) as caught:
            index.resolve(
                *([line] if place == "requirements" else ["y"]),
                **({} if place == "requirements" else {place: [line]}),
            )
        assert caught.value.reference == "requirement-invalid"


def test_this_machines_settings_are_not_heard(
    index: Index, start_server: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Constraints, further indexes and link lists that are planted for pip and uv here change nothing."""
    other = Index(start_server())
    other.add("thing", "9.0")
    index.add("thing", "1.0")
    newest = index.add("thing", "2.0")
    (tmp_path / "constraints.txt").write_text("thing<2\n")
    (tmp_path / "pip.conf").write_text(
        f"[global]\nconstraint = {tmp_path}/constraints.txt\nextra-index-url = {other.url}\n"
    )
    (tmp_path / "config/uv").mkdir(parents=True)
    (tmp_path / "config/uv/uv.toml").write_text(
        f'constraint-dependencies = ["thing<2"]\nextra-index-url = ["{other.url}"]\nfind-links = ["{other.server.url}"]\n'
    )
    for name, value in {
        "PIP_CONFIG_FILE": f"{tmp_path}/pip.conf",
        "PIP_CONSTRAINT": f"{tmp_path}/constraints.txt",
        "PIP_EXTRA_INDEX_URL": other.url,
        "UV_CONSTRAINT": f"{tmp_path}/constraints.txt",
        "UV_EXTRA_INDEX_URL": other.url,
        "UV_INDEX_URL": other.url,
        "UV_DEFAULT_INDEX": other.url,
        "UV_INDEX": other.url,
        "UV_EXCLUDE_NEWER": "2001-01-01T00:00:00Z",
        "UV_CONFIG_FILE": f"{tmp_path}/config/uv/uv.toml",
        "UV_RESOLUTION": "lowest",
        "UV_PRERELEASE": "allow",
        "XDG_CONFIG_HOME": f"{tmp_path}/config",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "uv.toml").write_text('constraint-dependencies = ["thing<2"]\n')
    assert index.resolve("thing") == [newest]
    assert other.server.asked == []


def test_the_result_is_the_same_twice(index: Index) -> None:
    """The order of the requirements does not show in the result."""
    for name in ("a", "b", "c"):
        index.add(name, "1.0")
    assert index.artifacts("c", "a", "b") == index.artifacts("b", "c", "a")


def test_the_real_index_answers(tmp_path: Path) -> None:
    """Against the index that uv knows by itself: two small packages with digest and size."""
    try:
        found = resolve_requirements(["packaging==24.2", "six==1.16.0"], **TARGET)
    except FetchError as error:
        pytest.skip(f"no package index here: {error.why}")
    assert [(artifact.locator, artifact.sha256, artifact.size) for artifact in found] == [
        (
            "pypi:packaging/packaging-24.2-py3-none-any.whl",
            "09abb1bccd265c01f4a3aa3f7a7db064b36514d2cba19a2f694fe6150451a759",
            65451,
        ),
        (
            "pypi:six/six-1.16.0-py2.py3-none-any.whl",
            "8abb2f1d86890a2dfb989f9a77cfcfd3e47c2a354b01111771326f8aa26e0254",
            11053,
        ),
    ]
