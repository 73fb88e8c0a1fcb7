"""What must never be shown is taken out here, once, before any renderer, log or report sees it.

Two kinds of secrets: those whose values are known (`secrets_of` finds them in the environment and
in a netrc file), and those that give themselves away by where they stand or by their shape. For
the first a secret is replaced wherever it stands; for the second see `_RULES`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple, TypeVar

from torchbuild.errors import TorchbuildError
from torchbuild.model.frozen import Frozen
from torchbuild.report.events import Event
from torchbuild.report.secrets import secrets_of, spellings

__all__ = ["MASK", "Redactor", "secrets_of"]

MASK = "***"
"""What stands where a secret stood."""

F = TypeVar("F", bound=Frozen)

_E = r"%(?:25)*"  # percent-encoded once, or again and again
_Q = r"""\"'<>"""  # what closes an address in running text
_TELLING_NAME = (
    r"(?:[\w.-]{0,60}?(?:token|secret|passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key|signature|credentials?)"
    r"|(?:[\w.-]{0,60}[_.-])?(?:key|sig|auth|pwd|jwt))"
)
_VALUE = r"""(?:"[^"\r\n]*"|'[^'\r\n]*'|[^\s"']+)"""


class _Rule(NamedTuple):
    """Where a secret gives itself away."""

    signs: tuple[str, ...]
    """In lower case. Text that holds none of them is not searched: searching costs."""
    pattern: re.Pattern[str]
    replacement: str | Callable[[re.Match[str]], str]


def _after(signs: str, pattern: str) -> _Rule:
    """What follows the pattern's only group is secret."""
    return _Rule(tuple(signs.split()), re.compile(pattern), rf"\1{MASK}")


def _shape(signs: str, pattern: str) -> _Rule:
    """All that the pattern matches is secret. The alphabets are the publishers'."""
    return _Rule(tuple(signs.split()), re.compile(pattern), MASK)


def _without_userinfo(match: re.Match[str]) -> str:
    scheme = match.string[: match.start()].lower()
    if scheme.endswith(("ssh", "sftp")) and ":" not in match[1]:
        return match[0]  # the account of an ssh address is public: ssh://git@...
    return f"://{MASK}@"


_RULES = (
    _Rule(("@",), re.compile(rf"""://([^\s/?#{_Q}]+)@"""), _without_userinfo),
    # a password that holds '/', '?' or '#' unescaped; a port is none
    _Rule(("@",), re.compile(rf"""://[^\s/:\[\]{_Q}]*:(?!\d*(?:[/?#\s{_Q}]|$))[^\s{_Q}]*@"""), f"://{MASK}@"),
    # an address that is a parameter of another
    _Rule(
        ("%",),
        re.compile(rf"""(?i)({_E}3a{_E}2f{_E}2f)(?:(?!{_E}(?:2f|3f|23|40))[^\s&{_Q}])+{_E}40"""),
        rf"\1{MASK}%40",
    ),
    _after("authorization", r"""(?i)(authorization["']?\s*[:=]\s*)[^\r\n]+"""),
    _after(
        "cookie token api-key",
        r"""(?i)(\b(?:(?:set-)?cookie|(?:x-[a-z-]*|private-|job-|deploy-)token|x-[a-z-]*api-key)["']?:\s*)[^\r\n]+""",
    ),
    _after(
        "% token passw passphrase secret key= signature= credential sig= auth= pwd= jwt=",
        rf"""(?i)((?:[?&;]|{_E}(?:3f|26)){_TELLING_NAME}(?:=|{_E}3d))(?:(?!{_E}26)[^\s&{_Q}#])+""",
    ),
    _after(
        "token passw passphrase secret apikey credential key= key' key\"",
        r"""(\b(?:[A-Z0-9]+_)*(?:TOKEN|PASSWORD|PASSWD|PASSPHRASE|SECRET|APIKEY|CREDENTIALS?"""
        rf"""|(?:API|ACCESS|PRIVATE|SECRET|SIGNING)_KEY)(?:=(?!=)|["']:\s*)){_VALUE}""",
    ),
    _after("password", rf"""(?i)(\bpassword=(?!=)|\blogin\s+\S+\s+password\s+){_VALUE}"""),
    _after(
        "token passw passphrase secret api-key apikey",
        rf"(?i)(--(?:[a-z]+-)*(?:password|passwd|passphrase|token|secret|api-?key)(?:=|\s+)){_VALUE}",
    ),
    _Rule(
        ("-----begin",),
        re.compile(r"(?s)(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END|\Z)"),
        rf"\1{MASK}\2",
    ),
    _shape("ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{20,}"),
    _shape("github_pat_", r"github_pat_\w{20,}"),
    _shape("glpat- gldt- glrt- glptt- glcbt-", r"gl(?:pat|dt|rt|ptt|cbt)-[\w.-]{16,}"),
    _shape("pypi-age", r"pypi-AgE[\w-]{12,}"),
    _shape("akia asia", r"(?<![A-Za-z0-9+])A(?:KI|SI)A[A-Z0-9]{16}(?![A-Za-z0-9+])"),
    _shape("xox xapp-", r"\bx(?:ox[a-z]|app)-[\w-]{10,}"),
    _shape("eyj", r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"),
    _shape("hf_ npm_", r"\b(?:hf|npm)_[A-Za-z0-9]{30,}"),
    _shape("aiza", r"\bAIza[\w-]{35}"),
    _shape("dckr_", r"\bdckr_(?:pat|oat)_[\w-]{20,}"),
)
_SIGNS = tuple(sorted({sign for rule in _RULES for sign in rule.signs}))
_WORDS_OF_OURS = frozenset({"kind", "outcome"})


class Redactor:
    """Takes secrets out of text.

    Args:
        secrets: values that are secret whatever surrounds them, see `secrets_of`.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {spelling for secret in secrets for spelling in spellings(secret)}
        # the longest first, or a secret that begins with another would leave its rest behind
        self._known = tuple(sorted(known, key=lambda text: (-len(text), text)))

    def redact(self, text: str) -> str:
        """`text` with ``***`` for each secret. Text without secrets comes back as it is."""
        for secret in self._known:
            if secret in text:
                text = text.replace(secret, MASK)
        lowered = text.lower()
        seen = {sign for sign in _SIGNS if sign in lowered}
        if seen:
            for rule in _RULES:
                if not seen.isdisjoint(rule.signs):
                    text = rule.pattern.sub(rule.replacement, text)
        return text

    def redact_event(self, event: Event) -> Event:
        """The same event with every free text redacted, findings included."""
        return self.redact_model(event)

    def redact_model(self, model: F) -> F:
        """The same value with every free text redacted, however deep it lies."""
        changed = {}
        for name in type(model).model_fields:
            before = getattr(model, name)
            after = self.redact_value(before)
            if after is not before and name not in _WORDS_OF_OURS:
                changed[name] = after
        return model.model_copy(update=changed) if changed else model

    def redact_value(self, value: object) -> object:
        """The same text, model, tuple, list or mapping, redacted; anything else as it is."""
        match value:
            case str():
                text = self.redact(value)
                return value if text == value else text
            case Frozen():
                return self.redact_model(value)
            case tuple():
                items = tuple(self.redact_value(item) for item in value)
                return value if all(a is b for a, b in zip(items, value, strict=True)) else items
            case list():
                return [self.redact_value(item) for item in value]
            case dict():
                return {key: self.redact_value(item) for key, item in value.items()}
            case _:
                return value

    def redact_error(self, error: TorchbuildError) -> TorchbuildError:
        """An error of the same family that says the same without the secrets."""
        problems = tuple(
            replace(
                problem,
                path=self.redact(problem.path),
                seen=self.redact(problem.seen),
                wanted=self.redact(problem.wanted),
                suggestion=self.redact(problem.suggestion),
            )
            for problem in error.problems
        )
        return type(error)(
            error.reference,
            self.redact(error.what),
            why=tuple(self.redact(line) for line in error.why),
            fix=self.redact(error.fix),
            evidence=tuple(self.redact(line) for line in error.evidence),
            problems=problems,
            link=self.redact(error.link),
        )
