"""The server that machines share for a compiler cache, out of its address; what each cache is told of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, quote, unquote, urlsplit

from torchbuild.errors import UsageError
from torchbuild.resolve.compiler_caches import SCCACHE

__all__ = ["CacheBackend", "cache_backend", "filled"]

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PORTS = {"redis": 6379, "rediss": 6379, "http": 80, "https": 443, "memcached": 11211}
_OF_CCACHE = ("redis", "http")
_PATIENCE = "connect-timeout=1000|operation-timeout=3000"
"""Milliseconds: a backend that does not answer costs each compiler call no more."""
_PREFIX = "sccache"
"""Before sccache's keys: others may keep something there too."""


class CacheBackend(NamedTuple):
    """One server."""

    scheme: str
    """``redis``, ``rediss``, ``http``, ``https`` or ``memcached``."""
    host: str
    """A name or an address."""
    port: int
    """As it is, or the scheme's own."""
    user: str
    """Empty for none."""
    password: str
    """Empty for none. Secret."""
    path: str
    """Begins with a slash, or empty. It may be secret too."""

    @property
    def endpoint(self) -> str:
        """What a build must be let through to."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def public(self) -> str:
        """What a report and a provenance say."""
        return f"{self.scheme}://{self.endpoint}"

    def told(self, cache: str) -> Mapping[str, str]:
        """Variables for a cache, secrets among them.

        Raises:
            UsageError: ``cache-backend-invalid``.
        """
        if cache == SCCACHE:
            return _SCCACHE[self.scheme](self)
        if self.scheme not in _OF_CCACHE:
            raise _invalid(
                f"{cache} has no backend by {self.scheme}", f"{' or '.join(_OF_CCACHE)}, or sccache"
            )
        return {"CCACHE_REMOTE_STORAGE": f"{self._address()}|{self._attributes()}"}

    def _address(self) -> str:
        # a password without a user stands alone: ccache takes an empty user for one
        words = [quote(word, safe="") for word in (self.user, self.password) if word]
        return f"{self.scheme}://{':'.join(words)}{'@' if words else ''}{self.endpoint}{self.path}"

    def _attributes(self) -> str:
        # flat: no server needs to make folders first, as by WebDAV it would
        return f"layout=flat|{_PATIENCE}" if self.scheme == "http" else _PATIENCE


def cache_backend(text: str, environ: Mapping[str, str]) -> CacheBackend:
    """The server of an address.

    Args:
        text: as the recipe has it, with ``${NAME}`` for a variable.
        environ: variables.

    Raises:
        UsageError: ``cache-backend-invalid``.
    """
    parts = _split(_filled(text, environ))
    if parts.scheme not in _PORTS:
        raise _invalid(f"the scheme {parts.scheme or 'that is missing'}", f"one of {', '.join(_PORTS)}")
    try:
        port = parts.port
    except ValueError:
        port = 0
    if not parts.hostname or port == 0:
        raise _invalid("no host, or a port that is none", "HOST or HOST:PORT behind ://")
    path = parts.path.rstrip("/")
    return CacheBackend(
        scheme=parts.scheme,
        host=parts.hostname,
        port=port or _PORTS[parts.scheme],
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        path=path,
    )


def filled(text: str, environ: Mapping[str, str]) -> str:
    """The address with its variables in it; what is not set stays as it is."""
    return _VARIABLE.sub(
        lambda match: quote(environ[match[1]], safe="") if match[1] in environ else match[0], text
    )


def _filled(text: str, environ: Mapping[str, str]) -> str:
    missing = [name for name in _VARIABLE.findall(text) if name not in environ]
    if missing:
        raise _invalid(f"${{{missing[0]}}}, which is not set", "variables of the environment that are")
    return filled(text, environ)


def _split(text: str) -> SplitResult:
    try:
        return urlsplit(text)
    except ValueError as error:
        raise _invalid("no address", "SCHEME://HOST:PORT") from error


def _invalid(seen: str, wanted: str) -> UsageError:
    """Nothing of the address itself: it may hold secrets."""
    return UsageError(
        "cache-backend-invalid",
        "machine.cache_backend is no backend for this compiler cache",
        why=(f"seen {seen}", f"wanted {wanted}"),
        fix="Write it as redis://HOST:PORT or http://HOST:PORT/PATH, a password as ${NAME}.",
    )


def _redis(backend: CacheBackend) -> Mapping[str, str]:
    database = backend.path.strip("/")
    return _some(
        SCCACHE_MULTILEVEL_CHAIN="disk,redis",
        SCCACHE_REDIS_ENDPOINT=backend.public,
        SCCACHE_REDIS_USERNAME=backend.user,
        SCCACHE_REDIS_PASSWORD=backend.password,
        SCCACHE_REDIS_DB=database if database.isdecimal() else "",
        SCCACHE_REDIS_KEY_PREFIX=_PREFIX,
    )


def _webdav(backend: CacheBackend) -> Mapping[str, str]:
    return _some(
        SCCACHE_MULTILEVEL_CHAIN="disk,webdav",
        SCCACHE_WEBDAV_ENDPOINT=backend.public + backend.path,
        SCCACHE_WEBDAV_USERNAME=backend.user,
        SCCACHE_WEBDAV_PASSWORD=backend.password,
        SCCACHE_WEBDAV_KEY_PREFIX=_PREFIX,
    )


def _memcached(backend: CacheBackend) -> Mapping[str, str]:
    return _some(
        SCCACHE_MULTILEVEL_CHAIN="disk,memcached",
        SCCACHE_MEMCACHED_ENDPOINT=f"tcp://{backend.endpoint}",
        SCCACHE_MEMCACHED_USERNAME=backend.user,
        SCCACHE_MEMCACHED_PASSWORD=backend.password,
        SCCACHE_MEMCACHED_KEY_PREFIX=_PREFIX,
    )


def _some(**variables: str) -> Mapping[str, str]:
    return {name: value for name, value in variables.items() if value}


_SCCACHE: Mapping[str, Callable[[CacheBackend], Mapping[str, str]]] = {
    "redis": _redis,
    "rediss": _redis,
    "http": _webdav,
    "https": _webdav,
    "memcached": _memcached,
}
