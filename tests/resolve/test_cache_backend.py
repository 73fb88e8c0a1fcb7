"""The shared backend of a compiler cache, out of its address."""

from __future__ import annotations

import pytest

from torchbuild.errors import UsageError
from torchbuild.resolve.cache_backend import cache_backend, filled

ENVIRON = {"WORD": "p@ss/word", "USER_NAME": "builder"}


@pytest.mark.parametrize(
    ("text", "public"),
    [
        ("redis://cache", "redis://cache:6379"),
        ("redis://:${WORD}@cache:7000/2", "redis://cache:7000"),
        ("http://${USER_NAME}:${WORD}@cache.example/secret-path/", "http://cache.example:80"),
        ("https://cache", "https://cache:443"),
        ("memcached://10.0.0.1", "memcached://10.0.0.1:11211"),
        ("rediss://[::1]:7", "rediss://[::1]:7"),
    ],
)
def test_what_is_shown_is_scheme_host_and_port(text: str, public: str) -> None:
    """Neither user, password nor path enters a report or a provenance."""
    assert cache_backend(text, ENVIRON).public == public
    assert cache_backend(text, ENVIRON).endpoint == public.partition("://")[2]


def test_ccache_is_told_an_address_with_its_patience() -> None:
    """A password without a user stands alone; by HTTP no folder needs to be there."""
    redis = cache_backend("redis://:${WORD}@cache/1", ENVIRON).told("ccache")
    http = cache_backend("http://me:${WORD}@cache/dir", ENVIRON).told("ccache")

    patience = "connect-timeout=1000|operation-timeout=3000"
    assert redis == {"CCACHE_REMOTE_STORAGE": f"redis://p%40ss%2Fword@cache:6379/1|{patience}"}
    assert http == {"CCACHE_REMOTE_STORAGE": f"http://me:p%40ss%2Fword@cache:80/dir|layout=flat|{patience}"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "redis://me:${WORD}@cache/3",
            {
                "SCCACHE_MULTILEVEL_CHAIN": "disk,redis",
                "SCCACHE_REDIS_DB": "3",
                "SCCACHE_REDIS_ENDPOINT": "redis://cache:6379",
                "SCCACHE_REDIS_KEY_PREFIX": "sccache",
                "SCCACHE_REDIS_PASSWORD": "p@ss/word",
                "SCCACHE_REDIS_USERNAME": "me",
            },
        ),
        (
            "https://cache/dir/",
            {
                "SCCACHE_MULTILEVEL_CHAIN": "disk,webdav",
                "SCCACHE_WEBDAV_ENDPOINT": "https://cache:443/dir",
                "SCCACHE_WEBDAV_KEY_PREFIX": "sccache",
            },
        ),
        (
            "memcached://cache",
            {
                "SCCACHE_MEMCACHED_ENDPOINT": "tcp://cache:11211",
                "SCCACHE_MEMCACHED_KEY_PREFIX": "sccache",
                "SCCACHE_MULTILEVEL_CHAIN": "disk,memcached",
            },
        ),
    ],
    ids=["redis", "webdav", "memcached"],
)
def test_sccache_is_told_in_variables_of_its_own(text: str, told: dict[str, str]) -> None:
    """The password is no part of the address, which it writes into its log; the local cache comes first."""
    assert dict(cache_backend(text, ENVIRON).told("sccache")) == told


@pytest.mark.parametrize(
    "text",
    [
        "cache:6379",
        "file:///nfs/cache",
        "redis://",
        "redis://:${NOT_SET}@cache",
        "http://host:99999",
        "s3://bucket",
        "http://[",
        "redis://a:0",
    ],
)
def test_what_is_no_backend_is_refused_and_not_repeated(text: str) -> None:
    """The address may hold a secret, so an error shows only what is wrong with it."""
    with pytest.raises(UsageError) as caught:
        cache_backend(text, {})

    assert caught.value.reference == "cache-backend-invalid"
    assert "@" not in caught.value.what + "".join(caught.value.why)


def test_a_scheme_that_only_the_other_cache_takes_is_refused() -> None:
    """It is named, with those that would do."""
    with pytest.raises(UsageError) as caught:
        cache_backend("memcached://cache", {}).told("ccache")

    assert "memcached" in caught.value.why[0]


def test_a_variable_that_is_not_set_stays() -> None:
    """So that what is known is taken out of logs before anybody complains."""
    assert filled("redis://:${WORD}@${HOST}", ENVIRON) == "redis://:p%40ss%2Fword@${HOST}"
