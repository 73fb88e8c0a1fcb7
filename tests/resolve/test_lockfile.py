"""The lock as a file."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from torchbuild.errors import LockError
from torchbuild.model.lock import Lock
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.assemble import Answers, lock_of
from torchbuild.resolve.load import load_recipe
from torchbuild.resolve.lockfile import check_fresh, dump_lock, parse_lock

REAL = Path(__file__).parents[2] / "tests" / "data" / "torch-2.6-cpu.lock"
TEXT = REAL.read_text(encoding="utf-8")
Load = Callable[..., Recipe]


@pytest.fixture
def sample(load: Load, least: str, answers: Callable[..., Answers]) -> Lock:
    """A small lock."""
    return lock_of(load(least), answers())


def _refused(text: str) -> LockError:
    with pytest.raises(LockError) as caught:
        parse_lock(text, "a.lock")
    return caught.value


def _outcome(text: str) -> Lock | LockError:
    """Any other exception fails the test that calls this."""
    try:
        return parse_lock(text, "a.lock")
    except LockError as error:
        return error


def test_a_lock_is_read_back_as_it_was_written(sample: Lock) -> None:
    """Writing and reading lose nothing, and writing again gives the same bytes."""
    text = dump_lock(sample)

    assert parse_lock(text, "a.lock") == sample
    assert dump_lock(parse_lock(text, "a.lock")) == text


def test_the_real_lock_is_fresh_and_stable() -> None:
    """The lock of the real recipe belongs to the recipe as it is, and would be written the same today."""
    toml = REAL.parents[2] / "recipes" / "debian" / "torch-2.6-cpu.toml"
    recipe = load_recipe(str(toml), lambda name: Path(name).read_text(encoding="utf-8"))
    lock = parse_lock(TEXT, str(REAL))

    check_fresh(lock, recipe, str(REAL))
    assert dump_lock(lock) == TEXT


TEXTS = st.text(max_size=20) | st.sampled_from(["\x7f\x01", "\u2028", '"""', "\\", "a\r\nb", "\t", "#", "Ω"])


@given(st.dictionaries(TEXTS, TEXTS, max_size=5), TEXTS, st.none() | st.lists(TEXTS, max_size=3))
def test_any_text_survives_the_file(environ: dict[str, str], name: str, requires: list[str] | None) -> None:
    """Whatever letters a value holds, the file gives them back, and the same lock gives the same bytes."""
    real = parse_lock(TEXT, "a.lock")
    wheel = real.wheel.model_copy(update={"requires": None if requires is None else tuple(requires)})
    lock = real.model_copy(update={"environ": environ, "name": name, "wheel": wheel})

    text = dump_lock(lock)

    assert parse_lock(text, "a.lock") == lock
    assert dump_lock(parse_lock(text, "a.lock")) == text


@given(st.text(max_size=300))
def test_any_text_is_a_lock_or_a_clear_error(text: str) -> None:
    """No file whatever makes reading a lock fail in another way."""
    assert isinstance(_outcome(text), LockError)


@given(st.integers(0, len(TEXT)), st.integers(0, 40), st.text(max_size=5))
def test_a_damaged_lock_is_refused(start: int, length: int, piece: str) -> None:
    """A lock from which something was cut, or into which something was written, is not built from."""
    damaged = TEXT[:start] + piece + TEXT[start + length :]
    result = _outcome(damaged)

    assert isinstance(result, LockError) or result == parse_lock(TEXT, "a.lock")


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [found for key, item in value.items() for found in _paths(item, (*path, key))]
    if isinstance(value, list) and value:
        return [found for index, item in enumerate(value) for found in _paths(item, (*path, index))]
    return [path]


PATHS = _paths(tomllib.loads(TEXT))


@given(st.sampled_from(PATHS), st.sampled_from(["x", 0, True, [], {}, 2**80, "0" * 64]))
def test_every_value_that_is_changed_is_noticed(path: tuple[Any, ...], value: Any) -> None:
    """No value of a lock can be changed by hand without a word: not a digest, not a flag, not a version."""
    table: dict[str, Any] = tomllib.loads(TEXT)
    place: Any = table
    for part in path[:-1]:
        place = place[part]
    before, place[path[-1]] = place[path[-1]], value
    result = _outcome(tomli_w.dumps(table))

    assert isinstance(result, LockError) or before == value


def test_a_change_by_hand_is_called_one() -> None:
    """The message tells that the lock was changed, and where changes belong."""
    error = _refused(TEXT.replace('value = "OFF"', 'value = "ON"', 1))

    assert error.reference == "lock-altered"
    assert "torchbuild lock" in error.fix


@pytest.mark.parametrize(
    "old",
    ["[wheel]", 'machine = "x86_64"', "unpinned = []", "size = 27212640", "[[expect]]"],
)
def test_what_was_added_or_taken_is_noticed(old: str) -> None:
    """An unknown key and a missing one are changes too."""
    for new in (f"{old}\n_extra = 1", ""):
        assert _refused(TEXT.replace(old, new, 1)).reference in {"lock-altered", "lock-unreadable"}


def test_a_lock_without_its_digest_is_not_trusted() -> None:
    """The line by which changes are noticed cannot be left out."""
    text = "".join(line for line in TEXT.splitlines(keepends=True) if not line.startswith("digest"))

    error = _refused(text)

    assert error.reference == "lock-altered"
    assert error.why[0] == "seen digest missing"


def test_layout_is_not_content() -> None:
    """Comments, blank lines and line ends may change: git and editors do that."""
    loose = "# seen by me\r\n" + TEXT.replace("\n\n", "\n# note\n\n\n").replace("\n", "\r\n")

    assert parse_lock(loose, "a.lock") == parse_lock(TEXT, "a.lock")


@pytest.mark.parametrize("schema", ["2", "1000000"])
def test_a_newer_lock_asks_for_a_newer_tool(schema: str) -> None:
    """A lock of a later format is told as such, whatever else has changed in it."""
    assert _refused(TEXT.replace("schema = 1", f"schema = {schema}", 1)).reference == "lock-too-new"
    assert _refused(f"schema = {schema}").reference == "lock-too-new"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("schema = ", "at end of document"),
        ("a = " + "[" * 100_000, "recursion"),
        ("[" + "a." * 2_000 + "a]", "recursion"),
        ("a = 1" + "0" * 5000, "digits"),
        ("a = 0x1" + "0" * 5000, "digits"),
    ],
    ids=["syntax", "lists", "tables", "decimal", "hexadecimal"],
)
def test_a_hostile_lock_is_unreadable(text: str, why: str) -> None:
    """Nesting and numbers without end are no crash."""
    error = _refused(text)

    assert error.reference == "lock-unreadable"
    assert why in error.why[0]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"recipe": "AB" * 32}, "recipe: Value error, wanted 64 lower-case hexadecimal digits"),
        ({"colour": "blue"}, "colour: Extra inputs are not permitted"),
        ({"epoch": -1}, "epoch: Input should be greater than or equal to 0"),
        ({"environ": {"A": 1}}, "environ.A: Input should be a valid string"),
        ({"wheel": "none"}, "wheel: Input should be a valid dictionary or instance of LockedWheel"),
    ],
)
def test_a_digest_of_its_own_does_not_make_a_lock_good(
    sample: Lock, change: dict[str, Any], why: str
) -> None:
    """Who changes a lock and computes its digest anew is still held to what a lock may hold."""
    from torchbuild.resolve import lockfile

    table = {**tomllib.loads(dump_lock(sample)), **change}
    del table["digest"]
    table["digest"] = lockfile._digest(table)

    error = _refused(tomli_w.dumps(table))

    assert (error.reference, error.why) == ("lock-unreadable", (why,))


def test_a_lock_of_another_recipe_is_stale(load: Load, least: str, sample: Lock) -> None:
    """A recipe that changed since needs a new lock; the machine's own table does not count."""
    check_fresh(sample, load(least), "a.lock")
    check_fresh(sample, load(least + "[machine]\njobs = 3"), "a.lock")

    with pytest.raises(LockError) as caught:
        check_fresh(sample, load(least + "[build]\ntype = 'Debug'"), "a.lock")

    assert caught.value.reference == "lock-stale"
    assert "a.lock" in caught.value.what
