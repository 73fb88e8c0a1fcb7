"""The Python package index that this machine uses, and where it keeps a file: the simple repository API."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin, urlsplit, urlunsplit
from urllib.request import url2pathname

from packaging.utils import canonicalize_name

from torchbuild.edges.locators import without_credentials
from torchbuild.errors import FetchError, HostError

if TYPE_CHECKING:
    from torchbuild.edges.web import Web

__all__ = ["IndexFile", "IndexSettings", "PackageIndex", "machine_authorities", "machine_index"]

_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_SETTING = re.compile(r"(?P<section>[^.]*)\.(?P<key>[a-z-]+)='(?P<value>.*)'")


class IndexSettings(NamedTuple):
    """What pip is told here about reaching an index. What it is told about choosing is not looked at."""

    index_url: str
    """Base address of the index."""
    ca_file: str
    """Certificate authorities, or empty."""


class IndexFile(NamedTuple):
    """One file of an index."""

    url: str
    """Where it is."""
    sha256: str
    """What the index says its digest is, or empty."""


def machine_index(index_url: str = "") -> IndexSettings:
    """The index that pip would use on this machine, `index_url` first.

    pip's own default is asked of pip: it has no name here.

    Raises:
        HostError: ``no-package-index``.
    """
    settings = _pip_settings()
    url = index_url or settings.get("index-url", "") or _pip_default()
    if not url:
        raise HostError(
            "no-package-index",
            "nothing says where the Python package index is",
            why=("seen: no [machine] index_url, no PIP_INDEX_URL, no index-url in pip's configuration",),
            fix="Set index_url in the recipe's [machine] table.",
        )
    return IndexSettings(index_url=url, ca_file=settings.get("cert", ""))


def machine_authorities() -> str:
    """The file of certificate authorities that pip is told to use on this machine; empty for its own."""
    return _pip_settings().get("cert", "")


def _pip_settings() -> dict[str, str]:
    """Pip's settings on this machine, in the order in which they override each other."""
    rank = {"global": 0, "download": 1, ":env:": 2}
    matches = filter(None, (_SETTING.fullmatch(line) for line in _pip("config", "list").splitlines()))
    known = sorted((m for m in matches if m["section"] in rank), key=lambda m: rank[m["section"]])
    return {match["key"]: match["value"] for match in known}


def _pip_default() -> str:
    """The index that pip's own help names."""
    found = re.search(r"--index-url <url>.*?\(default\s+(\S+?)\)", _pip("download", "--help"), re.DOTALL)
    return found[1] if found else ""


def _pip(*arguments: str) -> str:
    """What pip prints; empty where there is none that starts."""
    wide = {**os.environ, "COLUMNS": "500", "LC_ALL": "C.UTF-8", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    command = [sys.executable, "-m", "pip", "--no-input", *arguments]
    ended = subprocess.run(
        command, env=wide, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    return ended.stdout if ended.returncode == 0 else ""


class PackageIndex:
    """The index that pip would use on this machine."""

    def __init__(self, web: Web, index_url: str = "") -> None:
        """Nothing is asked yet.

        Args:
            web: the HTTP to use.
            index_url: base address of the index; empty: what pip is configured to use here.
        """
        self._web = web
        self._wanted = index_url
        self._pages: dict[str, dict[str, IndexFile]] = {}
        self._lock = threading.Lock()

    @cached_property
    def settings(self) -> IndexSettings:
        """Address and certificate authorities, as pip has them.

        Raises:
            HostError: ``no-package-index``.
        """
        return machine_index(self._wanted)

    def find(self, name: str, file: str) -> IndexFile:
        """Where the index keeps a file of a project.

        Raises:
            FetchError: ``not-on-index``, ``index-unreadable`` and those of `Web.page`.
            HostError: ``no-package-index``.
        """
        page, files = self._page(name)
        found = files.get(file)
        if found is None:
            raise FetchError(
                "not-on-index",
                f"{file}: not on the Python package index",
                why=(f"seen: {without_credentials(page)} lists no such file", "wanted: exactly that file"),
                fix="Use an index that has it ([machine] index_url), or run torchbuild lock again.",
            )
        return found._replace(url=_with_credentials(found.url, self.settings.index_url))

    def listing(self, name: str, *, is_hurried: bool = False) -> dict[str, IndexFile]:
        """All files of a project, by name.

        Args:
            name: the project's.
            is_hurried: as for `Web.bring`.

        Raises:
            FetchError: ``index-unreadable`` and those of `Web.page`.
            HostError: ``no-package-index``.
        """
        _, files = self._page(name, is_hurried=is_hurried)
        base = self.settings.index_url
        return {file: row._replace(url=_with_credentials(row.url, base)) for file, row in files.items()}

    def _page(self, name: str, *, is_hurried: bool = False) -> tuple[str, dict[str, IndexFile]]:
        """Address and files of a project's page, asked for once."""
        with self._lock:
            page = f"{self.settings.index_url.rstrip('/')}/{canonicalize_name(name)}/"
            if page not in self._pages:
                self._web.trust(self.settings.ca_file)
                self._pages[page] = _files(self._web, page, is_hurried=is_hurried)
            return page, self._pages[page]


def _with_credentials(url: str, index_url: str) -> str:
    """The file's address, with the index's user and password where it lies on the same host."""
    file, index = urlsplit(url), urlsplit(index_url)
    user, at, host = index.netloc.rpartition("@")
    if at and (file.scheme, file.netloc) == (index.scheme, host):
        return urlunsplit(file._replace(netloc=f"{user}@{host}"))
    return url


def _files(web: Web, page: str, *, is_hurried: bool) -> dict[str, IndexFile]:
    """File name -> file, of one project's page."""
    if page.startswith("file:"):
        return _html_files(_local_page(page), page)
    answer = web.page(page, {"Accept": _ACCEPT}, is_hurried=is_hurried)
    if "json" not in answer.headers.get("Content-Type", ""):
        return _html_files(answer.text, answer.url)
    try:
        rows = json.loads(answer.content)["files"]
        return {
            row["filename"]: IndexFile(
                urljoin(answer.url, row["url"]), row.get("hashes", {}).get("sha256", "")
            )
            for row in rows
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FetchError(
            "index-unreadable",
            f"{without_credentials(page)}: not a page of a package index",
            why=(f"seen: {type(error).__name__}: {error}", "wanted: the simple repository API, JSON or HTML"),
            fix="Correct [machine] index_url: it ends in /simple on most servers.",
        ) from error


def _local_page(page: str) -> str:
    directory = Path(url2pathname(urlsplit(page).path))
    try:
        return (directory / "index.html").read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise FetchError(
            "not-found",
            f"{page}: not there",
            why=(f"seen: {error.strerror}",),
            fix="Correct [machine] index_url, or add the project to that index.",
        ) from error


class _Anchors(HTMLParser):
    """Collects the targets of all links."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.targets += [value for name, value in attrs if name == "href" and value]


def _html_files(text: str, base: str) -> dict[str, IndexFile]:
    anchors = _Anchors()
    anchors.feed(text)
    found = {}
    for target in anchors.targets:
        url, fragment = urldefrag(urljoin(base, target))
        digest = fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else ""
        found[unquote(urlsplit(url).path.rpartition("/")[2])] = IndexFile(url, digest)
    return found
