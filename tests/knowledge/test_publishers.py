"""Who publishes what is where."""

from __future__ import annotations

import tomllib
from importlib.resources import files

from torchbuild.knowledge.publishers import publisher_addresses


def test_a_path_can_be_put_behind_an_address() -> None:
    """Each address is encrypted and ends with a slash, so that a locator's path follows it."""
    addresses = publisher_addresses()

    assert {"nvidia", "python-build-standalone"} <= addresses.keys()
    assert all(base.startswith("https://") and base.endswith("/") for base in addresses.values())


def test_every_address_says_where_it_is_from() -> None:
    """No row without its source and the day on which it was read."""
    text = (files("torchbuild.knowledge") / "data" / "publishers.toml").read_text(encoding="utf-8")

    assert all(len(row["source"]) > 10 and row["checked"] for row in tomllib.loads(text).values())
