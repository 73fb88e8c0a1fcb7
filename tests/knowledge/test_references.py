"""The catalogue of references holds what the code uses, no more and no less."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from torchbuild import errors
from torchbuild.knowledge.references import references

PACKAGE = Path(__file__).parents[2] / "torchbuild"
FAMILIES = {
    name
    for name, value in vars(errors).items()
    if isinstance(value, type)
    and issubclass(value, errors.TorchbuildError)
    and value is not errors.TorchbuildError
}
OTHER_FAMILIES = {
    "Finding": "check",
    "Expectation": "check",
    "Preflight": "check",
    "Warned": "warning",
    "Conflict": "conflict",
    "Against": "conflict",
}
"""Constructors that carry a reference and are no errors."""
VERBS = frozenset(
    """
    Add Allow Answer Ask Attach Begin Bring Build Change Check Choose Close Compare Copy Correct Declare Delete Do
    Exchange Exclude Find Free Give Install Keep Lay Leave Let List Look Loosen Lower Make Mend Merge Mount Move Name
    Patch Pin Prepare Put Raise Read Rebuild Refresh Remove Rename Repair Report Run See Send Set Shorten Start Take
    Try Unpack Update Use Wait Write
    """.split()  # noqa: SIM905  a paragraph reads better than fifty lines
)
"""How a fix may begin. A new verb is added here, so that no noun slips in."""

HANDED_ON = "<handed on>"
NAMED_ONLY = 99
"""Position of an argument that is only given by name."""


class Module:
    """One module of the package, as far as references go."""

    def __init__(self, path: Path) -> None:
        self.path = path.relative_to(PACKAGE)
        self.room = self.path.parts[0]
        self.tree = ast.parse(path.read_text(encoding="utf-8"))
        self.constants: dict[str, tuple[str, ...]] = {}
        self.tables: dict[str, ast.expr] = {}
        for node in ast.walk(self.tree):
            match node:
                case (
                    ast.Assign(targets=[target], value=value)
                    | ast.AnnAssign(target=target, value=ast.expr() as value)
                ):
                    self._take(target, value)
                case ast.For(target=target, iter=table):
                    self._take_loop(target, self.tables.get(getattr(table, "id", ""), table))
                case ast.ImportFrom(names=aliases):  # another module's constant, which counts there
                    self.constants |= {alias.asname or alias.name: (HANDED_ON,) for alias in aliases}
                case ast.comprehension(target=ast.Name(id=name), iter=ast.Attribute(attr="REFERENCES")):
                    self.constants[name] = (HANDED_ON,)

    def _take(self, target: ast.expr, value: ast.expr) -> None:
        """`A = "a-b"`, `REFERENCES = ("a-b", "c-d")`, `_A, _B = REFERENCES`, `_A, _B = "a-b", "c-d"`."""
        known = tuple(_literals(value)) or self.constants.get(getattr(value, "id", ""), ())
        match target:
            case ast.Name(id=name):
                self.constants[name] = known
                self.tables[name] = value
            case ast.Tuple(elts=names) if len(names) == len(known):
                for name, text in zip(names, known, strict=True):
                    self._take(name, ast.Constant(text))

    def _take_loop(self, target: ast.expr, table: ast.expr) -> None:
        """`for reference, what in (("a-b", "..."), ...)`: each name gets the literals of its column."""
        rows = [row for row in getattr(table, "elts", []) if isinstance(row, ast.Tuple)]
        for column, name in enumerate(getattr(target, "elts", []) if rows else []):
            texts = tuple(text for row in rows for text in _literals(row.elts[column]))
            self.constants[getattr(name, "id", "")] = texts

    def calls(self) -> Iterator[tuple[ast.Call, str]]:
        """Every call with the last part of what is called."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
                yield node, node.func.id if isinstance(node.func, ast.Name) else node.func.attr

    def carriers(self) -> dict[str, tuple[int, str]]:
        """Functions with a parameter `reference`: its position, and the family that they make."""
        found = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef):
                names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
                family = next((word for word in _names(node) if word in FAMILIES), "check")
                if "reference" in names and not node.name.startswith("__"):
                    offset = 1 if names[0] in ("self", "cls") else 0
                    found[node.name] = (names.index("reference") - offset, family)
        return found

    def values(self, node: ast.expr) -> set[str]:
        """The references that an expression can be; `HANDED_ON` where the caller's or another's counts."""
        known = set(_literals(node)) or set(self.constants.get(getattr(node, "id", ""), ()))
        return known or ({HANDED_ON} if "reference" in ast.unparse(node) else set())

    def findings_of_a_guest(self) -> Iterator[str]:
        """References of findings that a script of the build writes as JSON: it has no class for them."""
        for node in ast.walk(self.tree) if self.room == "shim" else ():
            for key, value in zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ():
                if (
                    isinstance(key, ast.Constant)
                    and key.value == "reference"
                    and isinstance(value, ast.Constant)
                ):
                    yield str(value.value)

    def name_of_run_time_check(self) -> Iterator[str]:
        """A module of run-time checks gives its findings the name `smoke-NAME`."""
        if self.room == "smoke" and "NEEDS" in self.constants:
            yield from (f"smoke-{name}".replace("_", "-") for name in self.constants["NAME"])


def _literals(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Constant(value=str() as text):
            yield text
        case ast.Tuple(elts=parts):
            for part in parts:
                yield from _literals(part)
        case ast.IfExp(body=body, orelse=other):
            yield from _literals(body)
            yield from _literals(other)


def _names(node: ast.AST) -> list[str]:
    return [child.id for child in ast.walk(node) if isinstance(child, ast.Name)]


def _argument(call: ast.Call, position: int) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == "reference":
            return keyword.value
    plain = [argument for argument in call.args if not isinstance(argument, ast.Starred)]
    return plain[position] if len(plain) > position else None


@cache
def _modules() -> tuple[Module, ...]:
    return tuple(Module(path) for path in sorted(PACKAGE.rglob("*.py")))


@cache
def _used() -> dict[str, dict[str, set[str]]]:
    """Reference -> family -> where; references that are not literal are under the name ''."""
    used: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    carriers: dict[str, dict[str, tuple[int, str]]] = defaultdict(dict)
    for module in _modules():
        carriers[module.room] |= {name: sink for name, sink in module.carriers().items() if name[0] != "_"}
    for module in _modules():
        for reference in (*module.name_of_run_time_check(), *module.findings_of_a_guest()):
            used[reference]["check"].add(str(module.path))
        sinks = {name: (0, name) for name in FAMILIES} | carriers[module.room] | module.carriers()
        sinks |= {name: (NAMED_ONLY, family) for name, family in OTHER_FAMILIES.items()}
        for call, name in module.calls():
            argument = _argument(call, sinks[name][0]) if name in sinks else None
            for reference in (module.values(argument) or {""}) if argument is not None else ():
                used[reference][sinks[name][1]].add(f"{module.path}:{call.lineno}")
    used.pop(HANDED_ON, None)
    return used


def test_every_reference_of_the_code_is_literal() -> None:
    """A reference can be found by searching for it."""
    assert not dict(_used().get("", {}))


def test_the_catalogue_is_what_the_code_uses() -> None:
    """`torchbuild explain` knows every reference that can appear, and none that cannot."""
    used = {reference for reference in _used() if reference}

    assert sorted(used - set(references())) == []
    assert sorted(set(references()) - used) == []


def test_a_reference_belongs_to_one_family() -> None:
    """A name means one thing, and one exit code."""
    ambiguous = {
        reference: {family: sorted(where) for family, where in families.items()}
        for reference, families in _used().items()
        if reference and len(families) > 1
    }

    assert ambiguous == {}


@pytest.mark.parametrize("name", sorted(references()))
def test_a_row_is_complete(name: str) -> None:
    """Each row has a kebab-case name, the family it is raised as, three texts, and a fix that begins with a verb."""
    row = references()[name]

    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name)
    assert row.family in _used().get(name, {row.family: set()})
    assert row.family in FAMILIES | set(OTHER_FAMILIES.values())
    assert all(text.endswith(".") for text in (row.what, row.why, row.fix))
    assert row.fix.split()[0].rstrip(",") in VERBS


def test_every_fix_in_the_code_begins_with_a_verb() -> None:
    """What an error tells people to do is an action."""
    wrong = []
    for module in _modules():
        for call, name in module.calls():
            for keyword in call.keywords:
                if name in FAMILIES and keyword.arg == "fix":
                    text = next((part for part in _texts(keyword.value)), "")
                    if text and text.split()[0].rstrip(",:") not in VERBS:
                        wrong.append(f"{module.path.name}:{call.lineno}: {text}")

    assert wrong == []


def _texts(node: ast.expr) -> Iterator[str]:
    """The text that an expression begins with, as far as it is literal."""
    match node:
        case ast.Constant(value=str() as text):
            yield text
        case ast.JoinedStr(values=[ast.Constant(value=str() as text), *_]):
            yield text
        case ast.IfExp(body=body, orelse=other):
            yield from _texts(body)
            yield from _texts(other)


def test_the_catalogue_is_sorted() -> None:
    """A row is found by its name, and two people adding rows rarely collide."""
    text = (PACKAGE / "knowledge" / "data" / "references.toml").read_text(encoding="utf-8")
    names = re.findall(r"^\[([^\]]+)\]$", text, flags=re.MULTILINE)

    assert names == sorted(set(names))
