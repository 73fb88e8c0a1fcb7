"""Whole wheels: what is promised of the two entry points."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import torchbuild
from torchbuild.errors import HostError, VerifyError
from torchbuild.inspection.expected import ExpectedWheel
from torchbuild.inspection.wheel import CHECKS, SOURCES, describe_wheel, inspect_wheel
from torchbuild.model.finding import failures

_OFFICIAL = Path("/opt/wheels/torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl")


def test_all_that_decides_a_check_is_named() -> None:
    """A stage takes these into its key: a corrected table makes a wheel be looked at again."""
    package = Path(torchbuild.__file__).parent
    modules, tables = {"inspection"}, set()
    # what reads an existing build for `init --like` judges no wheel
    todo = sorted(
        set((package / "inspection").glob("*.py")) - set((package / "inspection").glob("likeness*.py"))
    )
    while todo:
        text = todo.pop().read_text(encoding="utf-8")
        read = re.findall(r'facts(?:_file)?\((?:\w+, )?"(\w+)"|"(\w+)\.toml"', text)
        tables |= {f"knowledge/data/{one or other}.toml" for one, other in read}
        found = {f"knowledge/{name}.py" for name in re.findall(r"from torchbuild\.knowledge\.(\w+)", text)}
        todo += [package / name for name in sorted(found - modules)]
        modules |= found

    assert set(SOURCES) == modules | tables


def test_good_wheel_passes_every_check(
    make_wheel: Callable[..., Path], good_members: dict[str, bytes], expected: ExpectedWheel
) -> None:
    """A wheel that is right passes everything, and every check says so."""
    findings = inspect_wheel(make_wheel(good_members), expected)

    assert {finding.outcome for finding in findings} == {"passed"}
    wanted = {"wheel-members", *(name for check in CHECKS for name in check.REFERENCES)}
    assert wanted == {finding.reference for finding in findings}


def test_unasked_requirements_are_not_run(
    make_wheel: Callable[..., Path], good_members: dict[str, bytes], expected: ExpectedWheel
) -> None:
    """Where nobody fixed the requirements, their check is `not run`, never `passed`."""
    findings = inspect_wheel(make_wheel(good_members), expected.model_copy(update={"requires_dist": None}))

    assert [(f.reference, f.outcome) for f in findings if f.outcome != "passed"] == [
        ("wheel-requirements", "not run")
    ]


def test_wheel_of_a_distribution_fails_where_it_is_wrong(
    make_wheel: Callable[..., Path], make_elf: Callable[..., bytes], expected: ExpectedWheel
) -> None:
    """The shape of Debian's tree: no run path among the libraries, each library thrice, its own version."""
    libraries = {}
    for name, needs in (("torch", ()), ("torch_python", ("libtorch.so.2.6",))):
        content = make_elf(soname=f"lib{name}.so.2.6", needed=needs, source=f"int {name};")
        for suffix in (".so", ".so.2.6", ".so.2.6.0"):
            libraries[f"torch/lib/lib{name}{suffix}"] = content
    extension = make_elf(needed=("libtorch_python.so.2.6",), runpath="$ORIGIN/lib")
    libraries["torch/_C.cpython-313-x86_64-linux-gnu.so"] = extension
    wheel = make_wheel(libraries, version="2.6.0+debian")

    findings = inspect_wheel(wheel, expected)

    assert {"wheel-metadata", "elf-needed", "elf-duplicate"} == {f.reference for f in failures(findings)}
    assert any("libtorch.so.2.6" in f.what for f in findings if f.reference == "elf-needed")
    assert {"2.6.0+debian"} == {f.seen for f in findings if f.reference == "wheel-metadata"}
    assert sum(f.reference == "elf-duplicate" for f in findings) == 2


def test_hostile_archive_is_not_unpacked(
    make_wheel: Callable[..., Path], good_members: dict[str, bytes], expected: ExpectedWheel
) -> None:
    """Where the archive must not be unpacked, that is a failure and nothing else is called passed."""
    wheel = make_wheel({**good_members, "../../etc/cron.d/x": b"boom"})

    findings = inspect_wheel(wheel, expected)

    assert [(f.reference, f.outcome) for f in findings if f.outcome != "not run"] == [
        ("wheel-members", "failed")
    ]
    assert not {f.reference for f in findings if f.outcome == "passed"}
    with pytest.raises(VerifyError) as caught:
        describe_wheel(wheel)
    assert caught.value.reference == "wheel-unreadable"


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 torn", b"\x7fELF", b"PK\x05\x06" + b"\0" * 17])
def test_no_archive_at_all_is_an_error(tmp_path: Path, expected: ExpectedWheel, content: bytes) -> None:
    """A file that is no archive ends in one clear error, whichever way it is looked at."""
    wheel = tmp_path / "torch-2.6.0-cp313-cp313-linux_x86_64.whl"
    wheel.write_bytes(content)

    for look in (lambda: inspect_wheel(wheel, expected), lambda: describe_wheel(wheel)):
        with pytest.raises(VerifyError) as caught:
            look()
        assert caught.value.reference == "wheel-unreadable"
        assert caught.value.fix


def test_missing_wheel_is_an_error(tmp_path: Path, expected: ExpectedWheel) -> None:
    """A wheel that is not there is named, not traced back."""
    with pytest.raises(VerifyError) as caught:
        inspect_wheel(tmp_path / "gone.whl", expected)

    assert caught.value.reference == "wheel-unreadable"


def test_unusable_scratch_is_the_hosts_error(
    make_wheel: Callable[..., Path], good_members: dict[str, bytes], expected: ExpectedWheel, tmp_path: Path
) -> None:
    """No place for the libraries is the machine's fault, not the wheel's."""
    with pytest.raises(HostError) as caught:
        inspect_wheel(make_wheel(good_members), expected, scratch=tmp_path / "gone")

    assert caught.value.reference == "not-writable"


def test_scratch_is_left_empty(
    make_wheel: Callable[..., Path], good_members: dict[str, bytes], expected: ExpectedWheel, tmp_path: Path
) -> None:
    """What was unpacked to look at is gone afterwards."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    inspect_wheel(make_wheel(good_members), expected, scratch=scratch)

    assert list(scratch.iterdir()) == []


def test_describe_says_what_is_there(make_wheel: Callable[..., Path], good_members: dict[str, bytes]) -> None:
    """The description holds name, version, tags, digest, libraries, requirements and ceilings."""
    wheel = make_wheel(good_members)

    facts = describe_wheel(wheel)

    assert (facts.name, facts.version, facts.tags) == ("torch", "2.6.0", ("cp313-cp313-linux_x86_64",))
    assert hashlib.sha256(wheel.read_bytes()).hexdigest() == facts.sha256
    assert (wheel.stat().st_size, len(good_members) + 3) == (facts.size, facts.members)
    assert facts.requires_dist == ("filelock", "sympy==1.13.1")
    by_path = {elf.path: elf for elf in facts.elf}
    assert len(by_path) == 3
    python = by_path["torch/lib/libtorch_python.so"]
    assert (python.soname, python.runpath, python.rpath) == ("libtorch_python.so", ("$ORIGIN",), ())
    assert "libtorch.so" in python.needed
    assert facts.glibc.startswith("2.")
    assert facts.generator == "tests"


def test_description_without_metadata_is_an_error(
    make_wheel: Callable[..., Path], good_members: dict[str, bytes]
) -> None:
    """A zip that is no wheel is not described as one."""
    wheel = make_wheel(good_members, replace={"other-1.0.dist-info/METADATA": b"Name: other\n"})

    with pytest.raises(VerifyError) as caught:
        describe_wheel(wheel)

    assert caught.value.reference == "wheel-unreadable"


@pytest.mark.torch_wheel
def test_official_wheel_raises_no_alarm() -> None:
    """The official wheel passes: what is odd about the test programs it ships is a warning."""
    if not _OFFICIAL.is_file():
        pytest.skip(f"{_OFFICIAL} is not on this machine")
    asked = ExpectedWheel(
        distribution="torch",
        version="2.13.0+cpu",
        python_tag="cp311",
        machine="x86_64",
        glibc="2.28",
        forbidden_paths=("/torchbuild",),
    )

    begin = time.monotonic()
    findings = inspect_wheel(_OFFICIAL, asked)
    seconds = time.monotonic() - begin

    assert failures(findings) == ()
    passed = {finding.reference for finding in findings if finding.outcome == "passed"}
    assert {"wheel-record", "wheel-tags", "wheel-metadata", "elf-readable", "elf-glibc-ceiling"} <= passed
    assert all("/bin/" in f.what or "/test/" in f.what or "more of this kind" in f.what or "/bin/" in f.seen
               for f in findings if f.outcome == "warned")  # fmt: skip
    assert seconds < 120
