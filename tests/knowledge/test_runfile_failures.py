"""How NVIDIA's installer fails."""

from __future__ import annotations

import re

import pytest

from tests.knowledge.test_references import VERBS
from torchbuild.knowledge.runfile_failures import RunfileFailure, runfile_failure, runfile_failures


@pytest.mark.parametrize("row", runfile_failures(), ids=[row.name for row in runfile_failures()])
def test_a_row_is_complete(row: RunfileFailure) -> None:
    """Its pattern can be read, its fix is an action, and it says where it is from."""
    assert re.compile(row.pattern).search("") is None
    assert row.fix.split()[0].rstrip(",:") in VERBS
    assert row.fix.endswith(".")
    assert len(row.source) > 10
    assert re.fullmatch(r"20\d\d-[01]\d-[0-3]\d|unconfirmed", row.checked)


def test_names_are_unique_and_an_exit_code_means_one_thing() -> None:
    """Which row fits is no chance."""
    rows = runfile_failures()
    codes = [code for row in rows for code in row.codes]

    assert len({row.name for row in rows}) == len(rows)
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize(
    ("line", "code", "name"),
    [
        (" ... Extraction failed.", 15, "no-space"),
        (
            "Ensure there is enough space in /tmp and that the installation package is not corrupt",
            15,
            "no-space",
        ),
        ("Signal caught, cleaning up", 15, "cut-off"),
        ("", 15, "cut-off"),
        ("[ERROR]: boost::filesystem::create_directory: No space left on device", 1, "no-space"),
        (
            'boost::filesystem::copy_file: No space left on device: "…", "/usr/local/cuda-12.4/…"',
            134,
            "no-space",
        ),
        ('copy_file: No such file or directory: "./builds/cuda_nvcc/nvvm/bin/cicc"', 134, "poisoned"),
        ("terminate called after throwing an instance of 'std::out_of_range'", 134, "locale"),
        ("An NVIDIA kernel module 'nvidia-drm' appears to already be loaded in your kernel.", 1, "driver"),
        ("WARNING: NVIDIA kernel module 'nvidia-drm' appears to be already loaded", 0, "driver"),
        ("Failed to verify gcc version. See log at /var/log/cuda-installer.log for details.", 1, "gcc"),
        ("[ERROR]: Missing gcc. gcc is required to continue.", 1, "gcc"),
        ("boost::filesystem::create_symlink: File exists", 134, "symlink"),
        ("", 134, "symlink"),
        ("[ERROR]: Failed to update permissions for /opt/NVIDIA_CUDA-10.1_Samples", 1, "samples"),
        ("Segmentation fault (core dumped)", 139, "crashed"),
        ("", -11, "crashed"),
        ("Error in SHA256 checksums: aa is different from bb", 2, "damaged"),
        ("cuda-installer: error while loading shared libraries: libxml2.so.2: cannot open", 127, "library"),
        ("something else", 1, None),
    ],
)
def test_what_reports_quote_is_understood(line: str, code: int, name: str | None) -> None:
    """Each sentence of a public report has its cause, in either order of the words."""
    found = runfile_failure(("first", line, "last"), code)

    assert (found[0].name if found else None) == name
    assert found is None or found[1] == line
