"""Switches that count only while another one is on.

A tree decides on such a switch once, where it is declared; when the other is turned off later, the cache
keeps the first as it was asked for. So to ask for one is to ask for all that it needs.
"""

from __future__ import annotations

from torchbuild.errors import ConflictError
from torchbuild.knowledge.tables import switch_needs

__all__ = ["Wishes", "parents"]

Wishes = dict[str, tuple[str, str]]
"""Value and who wants it, by name."""


def parents(switches: Wishes) -> Wishes:
    """What must be on because something that is on needs it, and is not among `switches` itself.

    Args:
        switches: ``ON`` or ``OFF`` and who wants it, by name.

    Raises:
        ConflictError: ``switch-needs-another`` where one of them is asked to be off.
    """
    needed: Wishes = {}
    why: list[str] = []
    for name, (state, wish) in sorted(switches.items()):
        for parent in switch_needs(name) if state == "ON" else ():
            asked, other = switches.get(parent, ("", ""))
            if asked == "OFF":
                why.append(f"{name} is on ({wish}) and needs {parent}, which is off ({other})")
            elif not asked:
                needed.setdefault(parent, ("ON", f"{name} needs it"))
    if why:
        raise ConflictError(
            "switch-needs-another",
            "a switch is asked for and what it needs is not",
            why=tuple(why),
            fix="Set build.flags of the needed one to true, or of the other to false.",
        )
    return needed
