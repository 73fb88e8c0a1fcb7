"""Several archives in one directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchbuild.edges.merged_tree import merge_tree
from torchbuild.errors import StageError


def lay(top: Path, **files: str) -> Path:
    """A tree of small files; ``__`` in a name stands for ``/``, and ``->`` begins a link."""
    for name, text in files.items():
        path = top / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("->"):
            path.symlink_to(text[2:])
        else:
            path.write_text(text)
    return top


def test_components_of_a_release_become_one_prefix(tmp_path: Path) -> None:
    """Headers of one archive lie beside those of another; links stay links; the first licence stays."""
    one = lay(tmp_path / "one", bin__nvcc="n", include__a_h="a", LICENSE="mine", lib__x_so="->x_so_1")
    two = lay(tmp_path / "two", include__b_h="b", include__a_h="a", LICENSE="yours", lib__x_so="->x_so_1")

    merge_tree(one, tmp_path / "all")
    merge_tree(two, tmp_path / "all")

    names = sorted(str(path.relative_to(tmp_path / "all")) for path in (tmp_path / "all").rglob("*_*"))
    assert names == ["include/a_h", "include/b_h", "lib/x_so"]
    assert (tmp_path / "all" / "LICENSE").read_text() == "mine"
    assert (tmp_path / "all" / "lib" / "x_so").is_symlink()
    assert not one.exists()
    assert not two.exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [("bin__nvcc", "other"), ("bin__nvcc", "->ptxas"), ("bin", "a file"), ("bin__nvcc__x", "y")],
)
def test_two_contents_for_one_name_are_refused(tmp_path: Path, name: str, text: str) -> None:
    """The last archive would win in silence; nothing of it is laid."""
    here = lay(tmp_path / "all", bin__nvcc="n")
    other = lay(tmp_path / "other", include__new_h="h", **{name: text})

    with pytest.raises(StageError) as caught:
        merge_tree(other, here)

    assert caught.value.reference == "parts-collide"
    assert not (here / "include").exists()


def test_no_link_is_written_through(tmp_path: Path) -> None:
    """An archive's link may lead anywhere; what another has below that name does not go there."""
    outside = lay(tmp_path / "outside", keep="k")
    here = lay(tmp_path / "all", lib=f"->{outside}")
    other = lay(tmp_path / "other", lib__keep="changed")

    with pytest.raises(StageError):
        merge_tree(other, here)

    assert (outside / "keep").read_text() == "k"


@pytest.mark.parametrize("leads", ["../outside", "../../outside", "/etc"])
def test_a_link_that_leads_out_is_refused(tmp_path: Path, leads: str) -> None:
    """An archive that is safe as a whole may not be once only one of its folders is laid."""
    other = lay(tmp_path / "other", include__h="h", x=f"->{leads}")

    with pytest.raises(StageError) as caught:
        merge_tree(other, tmp_path / "all")

    assert caught.value.reference == "parts-link-leaves"


def test_a_link_that_leads_out_by_another_is_refused(tmp_path: Path) -> None:
    """Each for itself is harmless."""
    other = lay(tmp_path / "other", d__e__u="->../..", a="->d/e/u/../outside")

    with pytest.raises(StageError) as caught:
        merge_tree(other, tmp_path / "all")

    assert caught.value.reference == "parts-link-leaves"
