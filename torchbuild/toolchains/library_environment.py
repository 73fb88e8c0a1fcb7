"""How a library is handed over so that it cannot be overlooked, and what configure must have made of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from torchbuild.errors import Problem
from torchbuild.knowledge.libraries import LibraryFact, library_fact, library_names
from torchbuild.knowledge.tables import EraFact
from torchbuild.model.lock import Expectation
from torchbuild.model.part import LockedPart
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains.library_look import include_of, library_path_of

__all__ = ["definitions", "environment", "expectations", "problems", "switches"]

_OFF = {"OFF", "0", "FALSE", "NO", "N"}
_DECIDED = "nothing: the table [{name}] decides it"


def switches(parts: Iterable[LockedPart], declared: Collection[str] = ()) -> dict[str, tuple[str, str]]:
    """Options of the tree, ``ON`` or ``OFF``, with who wants each: as in `torchbuild.resolve.flags`.

    Args:
        parts: the lock's; those that are no such library are passed over.
        declared: options of the tree; those that it does not know are left out. Empty: nobody knows them.
    """
    found: dict[str, tuple[str, str]] = {}
    for part, fact in _libraries(parts):
        found |= dict.fromkeys((fact.switch, *fact.needs), ("ON", part.name))
        if fact.system:
            found[fact.system] = ("OFF" if part.provider == "bundled" else "ON", f"{part.name}.from")
    return {name: row for name, row in sorted(found.items()) if not declared or name in declared}


def environment(parts: Iterable[LockedPart], declared: Collection[str] = ()) -> dict[str, str]:
    """Variables of the build, switches included. What must not be set is not in it, and is refused before.

    Args:
        parts: the lock's.
        declared: as for `switches`.
    """
    rows = list(_libraries(parts))
    states = switches(_parts(rows), declared)
    found = {name: "1" if state == "ON" else "0" for name, (state, _) in states.items()}
    for part, fact in rows:
        if part.provider != "bundled":
            found |= _filled(part, fact.variables)
    return dict(sorted(found.items()))


def definitions(parts: Iterable[LockedPart], era: EraFact) -> dict[str, str]:
    """What configure would look for, given beforehand, where the era has a way in for any name."""
    if era.defines == "none":
        return {}
    found: dict[str, str] = {}
    for part, fact in _libraries(parts):
        if part.provider != "bundled":
            found |= _filled(part, fact.results)
    return dict(sorted(found.items()))


def expectations(parts: Iterable[LockedPart], declared: Collection[str] = ()) -> tuple[Expectation, ...]:
    """What the gate compares, sorted by key: the switches, and that each copy is the locked one.

    Args:
        parts: the lock's.
        declared: as for `switches`.
    """
    rows = list(_libraries(parts))
    found = [
        _expect("gate-library", key, "switch", state, why)
        for key, (state, why) in switches(_parts(rows), declared).items()
    ]
    for part, fact in rows:
        found += _absent(part, fact) if part.provider == "bundled" else _places(part, fact)
    return tuple(sorted(found, key=lambda item: (item.key, item.reference)))


def _parts(rows: Iterable[tuple[LockedPart, LibraryFact]]) -> Iterator[LockedPart]:
    return (part for part, _ in rows)


def _libraries(parts: Iterable[LockedPart]) -> Iterator[tuple[LockedPart, LibraryFact]]:
    known = library_names()
    return ((part, library_fact(part.name)) for part in parts if part.name in known)


def _filled(part: LockedPart, texts: dict[str, str]) -> dict[str, str]:
    """The texts with their places; those whose place nobody knows are left out."""
    library = library_path_of(part)
    places = {
        "prefix": part.prefix,
        "include": include_of(part),
        "library": library,
        "folder": library.rpartition("/")[0],
    }
    filled = {name: text.format(**places) for name, text in texts.items()}
    return {name: text for name, text in filled.items() if text}


def _places(part: LockedPart, fact: LibraryFact) -> Iterator[Expectation]:
    """The very path where it is known, else somewhere below the prefix."""
    known = _filled(part, fact.results)
    for key in fact.results:
        kind, value = ("path", known[key]) if key in known else ("within", part.prefix)
        yield _expect("gate-library", key, kind, value, part.name)


def _absent(part: LockedPart, fact: LibraryFact) -> Iterator[Expectation]:
    """The tree's own copy is built where none is looked for: one that was found would be linked instead."""
    for key in fact.results:
        yield _expect("gate-library", key, "text", "", f"{part.name}.from")


def _expect(reference: str, key: str, kind: str, value: str, why: str) -> Expectation:
    return Expectation.model_validate(
        {"reference": reference, "key": key, "kind": kind, "value": value, "why": why}
    )


def problems(recipe: Recipe) -> Iterator[Problem]:
    """Names of a library that nothing reads, or that contradict its table."""
    for name in library_names():
        fact = library_fact(name)
        is_asked = getattr(recipe, name) is not None
        yield from _environment_problems(recipe, name, fact, is_asked=is_asked)
        if is_asked:
            yield from _contradictions(recipe, name, fact)


def _environment_problems(
    recipe: Recipe, name: str, fact: LibraryFact, *, is_asked: bool
) -> Iterator[Problem]:
    reads = {*fact.variables, *fact.reads}
    for key, value in recipe.build.env.items():
        path = f"build.env.{key}"
        if key in fact.never:
            yield Problem(path=path, seen=value, wanted=f"no such name: {fact.never[key]}")
        elif is_asked and key in reads:
            yield Problem(path=path, seen=value, wanted=_DECIDED.format(name=name))
        elif key not in reads and key.startswith(name.upper() + "_"):
            wanted = f"a name that the tree reads: {', '.join(sorted(reads))}; or the table [{name}]"
            yield Problem(path=path, seen=f"the name {key}", wanted=wanted, suggestion=_near(key, fact))


def _near(key: str, fact: LibraryFact) -> str:
    """The name that is read for what somebody set under the name of a result."""
    place = fact.results.get(key)
    return next((name for name, text in fact.variables.items() if text == place), "")


def _contradictions(recipe: Recipe, name: str, fact: LibraryFact) -> Iterator[Problem]:
    """A library that the recipe has a table for, and that its flags turn off or take from elsewhere."""
    bundled = getattr(recipe, name).source == "bundled"
    wanted = dict.fromkeys((fact.switch, *fact.needs), "on")
    if fact.system:
        wanted[fact.system] = "off" if bundled else "on"
    for table, rows in (("build.flags", recipe.build.flags), ("build.cmake", recipe.build.cmake)):
        for key, value in rows.items():
            state = "off" if value is False or str(value).upper() in _OFF else "on"
            if key in fact.results or key in fact.variables:
                yield Problem(path=f"{table}.{key}", seen=str(value), wanted=_DECIDED.format(name=name))
            elif wanted.get(key, state) != state:
                yield Problem(
                    path=f"{table}.{key}", seen=str(value), wanted=f"{wanted[key]}: [{name}] is there"
                )
