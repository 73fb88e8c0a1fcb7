"""The build settings, and the switches that other files tell; where two places differ, nothing is told."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from torchbuild.inspection.bounded import BoundedFile
from torchbuild.inspection.likeness_notes import Notes
from torchbuild.inspection.likeness_settings import SettingsUnreadError, build_settings
from torchbuild.inspection.likeness_source import TorchFiles
from torchbuild.inspection.likeness_text import definitions, macros
from torchbuild.knowledge.likeness_signs import define_signs, word_signs
from torchbuild.model.likeness import LikeSetting, Read

__all__ = ["Switches", "on_or_off", "settings_of", "switches"]

_LONGEST_TEXT = 4 << 20
_TARGETS = "share/cmake/Caffe2/Caffe2Targets.cmake"
_WORDS = {"1": "ON", "0": "OFF", "TRUE": "ON", "FALSE": "OFF", "YES": "ON", "NO": "OFF"}


class Switches(NamedTuple):
    """What was read."""

    settings: tuple[LikeSetting, ...]
    """Settings that nothing contradicts."""
    flags: tuple[LikeSetting, ...]
    """Switches that are no setting."""
    is_whole: bool
    """Whether those are all settings."""

    def value(self, name: str) -> str:
        """A setting or a switch; empty where it is not known."""
        return next((item.value for item in (*self.settings, *self.flags) if item.name == name), "")

    def read(self, name: str) -> Read:
        """A setting with where it stands."""
        found = next((item for item in self.settings if item.name == name and item.value), None)
        return Read(value=found.value, where=f"{found.where} {name}") if found else Read()


def on_or_off(value: str) -> str:
    """``ON`` or ``OFF``; what is neither stays as it is."""
    return _WORDS.get(value.upper(), value.upper() if value.upper() in ("ON", "OFF") else value)


def settings_of(files: TorchFiles, notes: Notes) -> tuple[LikeSetting, ...]:
    """What ``config.show()`` would print as build settings; none, and told, where they cannot be read."""
    why = "it has no library that holds them"
    for name in (f"{files.package}/lib/libtorch_cpu.so", f"{files.package}/lib/libtorch.so"):
        path = files.path(name)
        if path is None:
            continue
        try:
            pairs = _settings(path)
        except SettingsUnreadError as error:
            why = why if "export" in str(error) and why.startswith(files.package) else f"{name}: {error}"
            continue
        return tuple(LikeSetting(name=key, value=value, where=name) for key, value in pairs)
    notes.miss("the build settings of config.show()", why)
    return ()


def _settings(path: Path) -> tuple[tuple[str, str], ...]:
    try:
        with path.open("rb", buffering=0) as stream:
            return build_settings(BoundedFile(stream.fileno()))
    except OSError as error:
        raise SettingsUnreadError(error.strerror or str(error)) from error


def switches(files: TorchFiles, notes: Notes, settings: tuple[LikeSetting, ...]) -> Switches:
    """Settings and the other files together."""
    told: dict[str, list[LikeSetting]] = {}
    for item in (*settings, *_of_headers(files), *_of_definitions(files, settings)):
        told.setdefault(item.name, []).append(item)
    contradicted: set[str] = set()
    for name, items in told.items():
        values = {on_or_off(item.value) for item in items if item.value}
        if len(values) > 1:
            contradicted.add(name)
            says = ", ".join(f"{item.where} says {item.value}" for item in items)
            notes.miss(name, f"places disagree: {says}")
    known = {item.name for item in settings}
    return Switches(
        tuple(item for item in settings if item.name not in contradicted),
        tuple(
            items[0].model_copy(update={"where": ", ".join(dict.fromkeys(item.where for item in items))})
            for name, items in sorted(told.items())
            if name not in known and name not in contradicted
        ),
        bool(settings) and not contradicted & known,
    )


def _of_headers(files: TorchFiles) -> list[LikeSetting]:
    found = []
    texts: dict[str, dict[str, str]] = {}
    for sign in define_signs():
        name = f"{files.package}/{sign.file}"
        if name not in texts:
            texts[name] = macros(_text(files, name))
        value = texts[name].get(sign.macro, "")
        if value in ("0", "1"):
            found.append(LikeSetting(name=sign.switch, value=on_or_off(value), where=f"{name} {sign.macro}"))
    return found


def _of_definitions(files: TorchFiles, settings: tuple[LikeSetting, ...]) -> list[LikeSetting]:
    name = f"{files.package}/{_TARGETS}"
    options = next((item for item in settings if item.name == "CXX_FLAGS"), None)
    of_targets = definitions(_text(files, name), "")
    of_options = definitions("", options.value) if options else set()
    found = []
    for sign in word_signs():
        if sign.word in of_targets:
            found.append(LikeSetting(name=sign.switch, value="ON", where=name))
        if options is not None and sign.word in of_options:
            found.append(LikeSetting(name=sign.switch, value="ON", where=f"{options.where} CXX_FLAGS"))
    return found


def _text(files: TorchFiles, name: str) -> str:
    found = files.text(name, _LONGEST_TEXT)
    return found.decode("utf-8", errors="backslashreplace") if found is not None else ""
