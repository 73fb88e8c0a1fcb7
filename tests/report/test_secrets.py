"""Which values of a machine count as secret."""

from __future__ import annotations

import pytest

from torchbuild.report.secrets import secrets_of, spellings


@pytest.mark.parametrize(
    "name",
    [
        "GITHUB_TOKEN",
        "TWINE_PASSWORD",
        "AWS_SECRET_ACCESS_KEY",
        "X_API_KEY",
        "API_KEY",
        "MYSQL_PWD",
        "NPMTOKEN",
        "my_secret",
        "OPENAI_APIKEY",
        "REGISTRY_AUTH",
        "DEPLOY_KEY",
        "CI_JOB_JWT",
        "DB_PASS",
        "SECRET_SAUCE",
        "AZURE_CREDENTIALS",
    ],
)
def test_a_variable_whose_name_says_secret_is_one(name: str) -> None:
    """The value of a variable that is named like a secret is secret."""
    assert secrets_of({name: "planted-value"}) == ("planted-value",)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PWD", "/home/user/build"),
        ("OLDPWD", "/home/user/build"),
        ("SSH_AUTH_SOCK", "/run/agent.sock"),
        ("GITHUB_TOKEN_FILE", "/run/secrets/token"),
        ("SUDO_ASKPASS", "/usr/bin/askpass"),
        ("TOKENIZERS_PARALLELISM", "disabled-here"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/etc/key.json"),
        ("CMAKE_PREFIX_PATH", "/opt/prefix"),
        ("XAUTHORITY", "/home/user/.Xauthority"),
        ("API_TOKEN", "short"),
        ("API_TOKEN", "      "),
        ("API_TOKEN", "disabled"),
        ("HTTPS_PROXY", "http://proxy.example:3128"),
    ],
)
def test_places_and_common_words_are_no_secrets(name: str, value: str) -> None:
    """What would blot out ordinary paths and words is left out."""
    assert secrets_of({name: value}) == ()


def test_the_password_of_an_address_is_secret_in_both_spellings() -> None:
    """A proxy's or an index's password is known, encoded and not, whatever the variable's name."""
    environ = {"PIP_EXTRA_INDEX_URL": "https://a.example/ https://bob:p%40ssw0rd@b.example/simple"}

    assert secrets_of(environ) == ("p%40ssw0rd", "p@ssw0rd")


def test_a_token_in_place_of_a_user_is_secret() -> None:
    """Where the user is the token, the user is secret."""
    environ = {
        "A": "https://tok3n-tok3n-tok3n-tok3n:x-oauth-basic@git.example/",
        "B": "https://lonelytoken@git.example",
    }

    assert secrets_of(environ) == ("lonelytoken", "tok3n-tok3n-tok3n-tok3n")


def test_netrc_passwords_are_secret_and_plain_logins_are_not() -> None:
    """A login such as `builder` does not blot out every path with that word; a token as login is secret."""
    netrc = """
        machine a.example login builder password hunter2hunter2
        default
            login tok3n-tok3n-tok3n-tok3n password x-oauth-basic
        machine b.example login other password "with \\" quote"
    """

    assert secrets_of({}, netrc) == ("hunter2hunter2", "tok3n-tok3n-tok3n-tok3n", 'with " quote')


def test_the_lines_of_a_long_secret_are_secret_each() -> None:
    """A key of several lines is found in a log that is read line by line."""
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\nshort\n-----END PRIVATE KEY-----"

    assert "MIIEvQIBADANBgkq" in set(spellings(key))
    assert "short" not in set(spellings(key))


def test_what_is_too_short_has_no_spelling() -> None:
    """Five characters are not taken out everywhere."""
    assert list(spellings("12345")) == []
