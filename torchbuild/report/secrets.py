"""Which values of this machine are secret, and how each may be spelled where it turns up."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from shlex import quote as shell_quote
from urllib.parse import quote, quote_plus, unquote

__all__ = ["secrets_of", "spellings"]

_USERINFO = re.compile(r"""://([^\s/?#"'<>]+)@""")
_SHORTEST = 6
_LINE_OF_KEY = 16
_COMMON = frozenset(
    """
    access account anonymous basic bearer changeme credential credentials default disabled enabled
    example failed false github gitlab localhost nobody oauth oauth2 passed password private public
    required reused secret secrets stopped token username warned x-access-token x-oauth-basic
    x-token-auth __token__
    """.split()  # noqa: SIM905  a paragraph is easier to read than forty lines
)
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:TOKENS?|PASSWORD|PASSWD|PASSPHRASE|PASS|PWD|SECRETS?|CREDENTIALS?|JWT|COOKIE|PAT"
    r"|(?:API|ACCESS|PRIVATE|SIGNING|ENCRYPTION|DEPLOY|AUTH)_?KEY)(?:_|$)"
    r"|(?:TOKEN|PASSWORD|PASSWD|SECRET|APIKEY|_AUTH|_AUTH_CONFIG)$"
)
_NAME_OF_A_PLACE = re.compile(
    r"_(?:FILE|PATH|DIR|SOCK|SOCKET|HELPER|PROMPT|CMD|COMMAND|URL|URI|HOST|USER|USERNAME|ID|TYPE|METHOD|TTL|EXPIRES"
    r"|EXPIRY|LIMIT|COUNT|ENABLED|VERSION)$"
    r"|^(?:OLD)?PWD$"
)
_NETRC_PAIR = re.compile(r"""\b(login|password)\s+("(?:[^"\\]|\\.)*"|\S+)""")
_TOKEN_LIKE = re.compile(r"(?=.*\d)[\w.~+/=-]{20,}")


def secrets_of(environ: Mapping[str, str], netrc_text: str = "") -> tuple[str, ...]:
    """The secrets that this environment and this netrc file hold, sorted.

    Variables count whose name says secret, and the passwords in addresses whatever the variable's
    name. Logins count where they are the token itself: a login such as ``builder`` would blot out
    every path with that word. Values shorter than 6 characters and common words are left out.
    """
    found = set(_of_netrc(netrc_text))
    for name, value in environ.items():
        found.update(_of_addresses(value))
        upper = name.upper()
        if _SECRET_NAME.search(upper) and not _NAME_OF_A_PLACE.search(upper) and not _is_place(upper, value):
            found.add(value)
    return tuple(sorted(secret for secret in found if _is_secret(secret)))


def _is_secret(value: str) -> bool:
    return len(value.strip()) >= _SHORTEST and value.strip().lower() not in _COMMON


def _is_place(name: str, value: str) -> bool:
    return name.endswith("CREDENTIALS") and value.startswith("/")


def _of_addresses(value: str) -> Iterator[str]:
    for userinfo in _USERINFO.findall(value):
        user, _, password = userinfo.partition(":")
        yield from (password, unquote(password))
        if not password or password.lower() in _COMMON or _TOKEN_LIKE.fullmatch(user):
            yield from (user, unquote(user))


def _of_netrc(text: str) -> Iterator[str]:
    login = ""
    for kind, raw in _NETRC_PAIR.findall(text):
        value = re.sub(r"\\(.)", r"\1", raw[1:-1]) if raw.startswith('"') else raw
        if kind == "login":
            login = value
            if _TOKEN_LIKE.fullmatch(value):
                yield value
        else:
            yield value
            if not _is_secret(value):
                yield login


def spellings(secret: str) -> Iterator[str]:
    """A secret as it may stand in text: itself, in an address, in JSON, on a command line.

    Nothing for what is too short or too common to be taken out everywhere.
    """
    if not _is_secret(secret):
        return
    yield secret
    yield secret.strip()
    for kept in (
        "/",
        "",
        ":/?#[]@!$&'()*+,;=",
    ):  # the reserved characters that writers of addresses leave as they are
        yield from _both_cases(quote(secret, safe=kept))
    yield from _both_cases(quote_plus(secret))
    for quoted in (json.dumps(secret), json.dumps(secret, ensure_ascii=False), repr(secret)):
        yield quoted[1:-1]
    if shell_quote(secret) != secret:
        yield shell_quote(secret)[1:-1]
    lines = secret.splitlines()
    yield from (line for line in lines if len(lines) > 1 and len(line) >= _LINE_OF_KEY)


def _both_cases(encoded: str) -> Iterator[str]:
    yield encoded
    yield re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), encoded)
