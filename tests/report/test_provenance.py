"""Where a wheel comes from, in the form that other tools read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf import json_format
from in_toto_attestation.predicates.provenance.v1 import provenance_pb2
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor
from in_toto_attestation.v1.statement import Statement

from torchbuild.model.artifact import Artifact, ImageRef
from torchbuild.model.lock import Lock, LockedOverlay, LockedPatch, LockedSource, LockedSubmodule
from torchbuild.report.provenance import Circumstances, provenance

WHEEL = "torch-2.6.0+dev-cp313-cp313-linux_x86_64.whl"
CLEAN = Circumstances(lock_sha256="9" * 64, tool="1.2", is_dev=False, allowed=())


@pytest.fixture
def full(make_lock: Callable[..., Lock], artifact: Callable[..., Artifact]) -> Lock:
    """A lock with every kind of material."""
    return make_lock(
        source=LockedSource(
            kind="git",
            url="https://example.org/torch",
            commit="a" * 40,
            submodules=(LockedSubmodule(path="third_party/x", url="https://example.org/x", commit="b" * 40),),
            late=(LockedSubmodule(path="third_party/nccl", url="https://example.org/n", commit="c" * 40),),
            series=artifact("debian.tar.xz"),
            patches=(
                LockedPatch(name="a.patch", sha256="1" * 64, origin="recipe:a.patch"),
                LockedPatch(name="b.patch", sha256="2" * 64, origin="series:debian.tar.xz:b.patch"),
            ),
            overlays=(LockedOverlay(artifact=artifact("onnx.tar.gz"), to="third_party/onnx"),),
        ),
        image=ImageRef(name="localhost/builder", id="d" * 64),
        build_requires=(artifact("cmake-4.0.0-py3-none-any.whl"),),
        unpinned=("the linker",),
    )


def read(lock: Lock, around: Circumstances = CLEAN) -> dict[str, Any]:
    """The statement."""
    statement: dict[str, Any] = json.loads(provenance(lock, WHEEL, "e" * 64, around))
    return statement


def test_it_is_an_in_toto_statement_with_slsa_provenance(full: Lock) -> None:
    """Policy engines read it: it keeps to the publisher's own schema, unknown fields refused."""
    statement = read(full)
    parsed = json_format.ParseDict(statement, statement_pb2.Statement())
    Statement.copy_from_pb(parsed).validate()
    predicate = json_format.ParseDict(statement["predicate"], provenance_pb2.Provenance())
    for material in predicate.build_definition.resolved_dependencies:
        ResourceDescriptor.copy_from_pb(material).validate()
    assert parsed.predicate_type == "https://slsa.dev/provenance/v1"


def test_every_byte_that_entered_is_a_material(full: Lock) -> None:
    """Commits of the tree, submodules and late sources; archives, patches, packages; the builder image."""
    materials = read(full)["predicate"]["buildDefinition"]["resolvedDependencies"]
    names = [item["name"] for item in materials]
    digests = [next(iter(item["digest"].values())) for item in materials]

    assert set(names) == {
        *(".", "third_party/x", "third_party/nccl", "a.patch", "b.patch", "builder image localhost/builder"),
        *("debian.tar.xz", "onnx.tar.gz", "cmake-4.0.0-py3-none-any.whl"),
    }
    assert len(digests) == len(set(digests)) == len(names)
    assert materials[0] == {
        "uri": f"git+https://example.org/torch@{'a' * 40}",
        "name": ".",
        "digest": {"gitCommit": "a" * 40},
    }


def test_a_folder_is_known_by_its_contents(make_lock: Callable[..., Lock]) -> None:
    """A source that is a directory has no commit; its digest is said to be of our own kind."""
    source = LockedSource(kind="path", path="tree", tree="f" * 64)
    (material,) = read(make_lock(source=source, build_requires=(), run_requires=(), verify_requires=()))[
        "predicate"
    ]["buildDefinition"]["resolvedDependencies"]

    assert material == {"uri": "file:tree", "name": ".", "digest": {"torchbuild-tree": "f" * 64}}


@pytest.mark.parametrize(
    ("url", "uri"),
    [
        ("https://example.org/a b", "git+https://example.org/a%20b"),
        ("git@example.org:group/x.git", "git+ssh://git@example.org/group/x.git"),
        ("/srv/git/x", "git+file:///srv/git/x"),
    ],
)
def test_addresses_are_uris(make_lock: Callable[..., Lock], url: str, uri: str) -> None:
    """Readers parse them: git's short form and blanks are written as a URI writes them."""
    lock = make_lock(source=LockedSource(kind="git", url=url, commit="a" * 40))
    material = read(lock)["predicate"]["buildDefinition"]["resolvedDependencies"][0]
    assert material["uri"] == f"{uri}@{'a' * 40}"


def test_what_nobody_could_pin_is_said(full: Lock) -> None:
    """What is not among the materials and entered all the same."""
    parameters = read(full)["predicate"]["buildDefinition"]["internalParameters"]
    assert (parameters["unpinned"], parameters["network"]) == (["the linker"], "none")


@pytest.mark.parametrize(
    ("allowed", "network"),
    [
        ((), "none"),
        (("cache.example:443",), "endpoints"),
        (("cache.example:443", "open-network"), "open"),
        (("unknown",), "unknown"),
        (("cache.example:443", "unknown"), "unknown"),
        (("open-network", "unknown"), "open"),
    ],
)
def test_what_of_the_network_was_open_is_said(lock: Lock, allowed: tuple[str, ...], network: str) -> None:
    """Whoever trusts the wheel knows whether its build could reach anything."""
    definition = read(lock, CLEAN.model_copy(update={"allowed": allowed}))["predicate"]["buildDefinition"]
    assert definition["internalParameters"]["network"] == network
    assert definition["externalParameters"]["allowed"] == list(allowed)


def test_an_edited_tree_is_marked(lock: Lock) -> None:
    """A wheel of build --dev says so in its papers, and that its materials are not the whole of it."""
    definition = read(lock, CLEAN.model_copy(update={"is_dev": True}))["predicate"]["buildDefinition"]
    assert definition["externalParameters"]["dev"] is True
    assert any("edit" in line for line in definition["internalParameters"]["unpinned"])


def test_whose_facts_decided_is_said(full: Lock, make_lock: Callable[..., Lock]) -> None:
    """A row of a user's own that was laid over ours is named; where there was none, nothing is."""
    line = "cuda.floor >=12,<13: replaced by the user's overlay, sha256 00"
    told = read(make_lock(facts=(line,)))["predicate"]["buildDefinition"]["internalParameters"]

    assert told["facts"] == [line]
    assert "facts" not in read(full)["predicate"]["buildDefinition"]["internalParameters"]


def test_the_same_wheel_has_the_same_papers(full: Lock) -> None:
    """No time, no host and no order of a run is in it."""
    text = provenance(full, WHEEL, "e" * 64, CLEAN)
    assert text == provenance(full, WHEEL, "e" * 64, CLEAN)
    assert [word for word in ("startedOn", "finishedOn", "invocationId") if word in text] == []
    assert read(full)["predicate"]["runDetails"] == {
        "builder": {"id": "urn:torchbuild:builder", "version": {"torchbuild": "1.2"}}
    }
