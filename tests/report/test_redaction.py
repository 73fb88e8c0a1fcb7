"""Secrets never reach a person, a log or a report; everything else arrives as it was."""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchbuild.errors import Problem, StageError
from torchbuild.model.finding import Finding
from torchbuild.report.events import Found, Line, StageFinished
from torchbuild.report.redaction import MASK, Redactor
from torchbuild.report.summary import RunReport, StageReport

SECRET = "S3cr3t-Pa55w0rd"

PLACES = {
    "https": "fetching https://user:{}@files.example/simple/",
    "https-token-as-user": "fetching https://{}@files.example/org/repo.git",
    "git-https": "pip install git+https://oauth2:{}@git.example/org/repo.git@v2.6.0",
    "ssh-with-password": "git+ssh://git:{}@git.example/org/repo",
    "proxy": "HTTPS_PROXY=http://user:{}@proxy.example:3128",
    "socks": "proxy socks5h://u:{}@127.0.0.1:1080 is used",
    "upper-case scheme": "HTTPS://u:{}@files.example/",
    "encoded address": "?next=https%3A%2F%2Fuser%3A{}%40files.example%2Fsimple",
    "encoded twice": "?next=https%253A%252F%252Fuser%253A{}%2540files.example",
    "header": "> Authorization: Bearer {}",
    "header in lower case": "send: authorization: basic {}",
    "header as argument": "curl -H 'Authorization: token {}' https://api.example/",
    "header in a dict": "{{'Authorization': 'Bearer {}', 'Accept': '*/*'}}",
    "proxy header": "Proxy-Authorization: Basic {}",
    "header in json": '{{"authorization": "Bearer {}"}}',
    "cookie": "Set-Cookie: session={}; Path=/",
    "job token header": "JOB-TOKEN: {}",
    "api key header": "X-Api-Key: {}",
    "vendor header": "X-Vault-Token: {}",
    "query token": "GET https://files.example/a.whl?token={}&x=1",
    "query access token": "https://files.example/a?x=1&access_token={}#sha256=00",
    "query signature": "https://files.example/a?X-Amz-Date=1&X-Amz-Signature={}",
    "query sig": "https://files.example/a?sv=2020&sig={}",
    "query key": "https://files.example/a?key={}",
    "query encoded": "to=https%3A%2F%2Ffiles.example%2Fa%3Ftoken%3D{}%26x%3D1",
    "assignment": "export TWINE_PASSWORD={}",
    "quoted assignment": 'ENV NPM_TOKEN="{}"',
    "environment in a dict": "{{'GITLAB_TOKEN': '{}', 'PATH': '/usr/bin'}}",
    "option": "twine upload --password {} dist/*",
    "option with equals": "tool --api-key={} run",
    "netrc": "machine files.example login bob password {}",
    "lower-case assignment": "server=x password={} retries=3",
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
def test_a_secret_is_taken_out_where_it_gives_itself_away(place: str) -> None:
    """A secret nobody told us of does not survive in a place that is made for secrets."""
    shown = Redactor().redact(place.format(SECRET))

    assert SECRET not in shown
    assert MASK in shown


TOKENS = {
    "github": "ghp_" + "a1B2" * 9,
    "github app": "ghs_" + "a1B2" * 9,
    "github fine-grained": "github_pat_" + "11ABCDE_" * 8,
    "gitlab": "glpat-" + "x9_-" * 5,
    "index": "pypi-AgEIcHlwaS5vcmc" + "Cx-_" * 10,
    "cloud key": "AKIAIOSFODNN7EXAMPLE",
    "cloud session key": "ASIAIOSFODNN7EXAMPLE",
    "chat": "xoxb-123456789012-abcdefABCDEF",
    "web token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "models": "hf_" + "abCD" * 9,
    "packages": "npm_" + "abCD" * 9,
    "maps": "AIza" + "SyA-bcdefg" * 3 + "abcde",
    "images": "dckr_pat_" + "abCD-" * 5,
}


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS.keys())
@pytest.mark.parametrize("frame", ["{}", "remote: {} refused", "x={},y", "('{}')", "/tmp/{}.txt"])
def test_a_token_is_known_by_its_shape(token: str, frame: str) -> None:
    """A well-known token does not survive wherever it stands."""
    shown = Redactor().redact(frame.format(token))

    assert token not in shown
    assert shown.startswith(frame.partition("{")[0] + MASK)


@given(
    user=st.text(st.characters(codec="ascii", categories=["L", "N"]), max_size=8),
    password=st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=6, max_size=40),
    scheme=st.sampled_from(["https", "http", "git+https", "ftp", "socks5", "redis"]),
)
def test_any_password_of_an_address_is_taken_out(user: str, password: str, scheme: str) -> None:
    """Whatever the password's characters, once encoded as addresses demand it does not survive."""
    encoded = "planted" + quote(password, safe="")

    shown = Redactor().redact(f"get {scheme}://{user}:{encoded}@host.example:8443/path/file.whl now")

    assert f"get {scheme}://{MASK}@host.example:8443/path/file.whl now" == shown


@given(
    secret=st.text(min_size=6).filter(lambda text: len(text.strip()) >= 6),
    before=st.text(),
    after=st.text(),
)
def test_a_known_secret_never_survives(secret: str, before: str, after: str) -> None:
    """A value named as secret is gone from any text around it."""
    secret = f"<{secret}>"

    assert secret not in Redactor([secret]).redact(before + secret + after)


@pytest.mark.parametrize("secret", ["p@ss/w:rd%1&x", "quo'te\"back\\slash", "mit Umlaut ä ö", "sp ace+plus"])
@pytest.mark.parametrize(
    "spell",
    [
        str,
        quote,
        lambda text: quote(text, safe=""),
        lambda text: re.sub("%..", lambda match: match[0].lower(), quote(text, safe="")),
        lambda text: repr(text)[1:-1],
        lambda text: json.dumps(text)[1:-1],
        lambda text: shlex.quote(text).strip("'"),
    ],
    ids=["raw", "path", "component", "lower-case hex", "repr", "json", "command line"],
)
def test_a_known_secret_is_found_in_each_spelling(secret: str, spell: Callable[[str], str]) -> None:
    """A known secret is also taken out where it was percent-encoded, quoted or dumped as JSON."""
    shown = Redactor([secret]).redact(f"before {spell(secret)} after")

    assert f"before {MASK} after" == shown


def test_the_longer_of_two_secrets_wins() -> None:
    """Where one secret begins another, nothing of the longer stays behind."""
    assert f"x {MASK} y" == Redactor(["abcdefgh", "abcdefgh-and-more"]).redact("x abcdefgh-and-more y")


ORDINARY = [
    "/home/user/pytorch/torch/csrc/Module.cpp:12:5: warning: unused variable 'token' [-Wunused-variable]",
    "error: expected unqualified-id before ')' token",
    "git clone ssh://git@git.example/org/repo.git && git@git.example:org/repo.git",
    "git+https://git.example/org/repo.git@v2.6.0#egg=torch",
    "https://files.example:8443/packages/torch-2.6.0%2Bcu118-cp311-cp311-linux_x86_64.whl#sha256="
    + "0a" * 32,
    "http://[::1]:8080/a@b/c",
    "-DTORCH_KEY_VALUE_STORE=1 -DTOKENIZERS=ON -I/usr/include/c++/13 -o key.o",
    "caffe2/CMakeFiles/torch_cpu.dir/__/aten/src/ATen/native/cpu/Activation.cpp.DEFAULT.cpp.o",
    "debian:trixie/pytorch/pytorch_2.6.0+dfsg.orig.tar.xz",
    "pypi:numpy/numpy-2.4.4-cp313-cp313-manylinux_2_27_x86_64.whl",
    "/opt/venv/lib/python3.11/site-packages/transformers/tokenization_utils.py",
    "bool operator==(const Token& a): if (a.key == SECRET) return key==b.key;",
    "warning: comparison SECRET==value",
    "Sent Authorization without a colon, passwords are not supported",
    "[431/1377] Building CXX object c10/CMakeFiles/c10.dir/core/DispatchKey.cpp.o",
]


@pytest.mark.parametrize("line", ORDINARY)
def test_an_ordinary_line_is_left_alone(line: str) -> None:
    """Compiler output, addresses without secrets and locators arrive unchanged."""
    assert line == Redactor(["another-secret"]).redact(line)


_PART = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,20}", fullmatch=True)


@given(
    st.one_of(
        st.from_regex(r"[0-9a-f]{40}", fullmatch=True),
        st.from_regex(r"[0-9a-f]{64}", fullmatch=True),
        st.from_regex(
            r"([1-9]!)?[0-9]+(\.[0-9]+){0,3}((a|b|rc)[0-9])?(\.dev[0-9]+)?(\+[a-z0-9.]{1,12})?",
            fullmatch=True,
        ),
        st.lists(_PART, min_size=1, max_size=8).map(lambda parts: "/" + "/".join(parts)),
        st.lists(_PART, min_size=1, max_size=6).map(lambda parts: "https://files.example/" + "/".join(parts)),
        _PART.map(lambda name: f"{name}-cp311-cp311-manylinux_2_28_x86_64.whl"),
    )
)
def test_paths_commits_digests_versions_and_file_names_are_never_changed(text: str) -> None:
    """What is evidence stays evidence."""
    assert text == Redactor(["another-secret"]).redact(text)


@given(st.text())
def test_redaction_twice_is_redaction_once(text: str) -> None:
    """A text that was redacted passes a second time unchanged."""
    redactor = Redactor(["hunter2hunter2"])
    once = redactor.redact(text)

    assert once == redactor.redact(once)


def test_a_private_key_is_emptied() -> None:
    """Of a private key only its frame is shown."""
    key = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\nBBBB\n-----END OPENSSH PRIVATE KEY-----"

    assert f"-----BEGIN OPENSSH PRIVATE KEY-----{MASK}-----END OPENSSH PRIVATE KEY-----" == Redactor().redact(
        key
    )


def test_an_event_is_redacted_with_the_findings_in_it() -> None:
    """No text of an event is overlooked, nested or not."""
    finding = Finding(
        reference="fetched", outcome="passed", what=f"https://u:{SECRET}@x.example/", seen=SECRET
    )
    redactor = Redactor([SECRET])

    shown = redactor.redact_event(Found(stage="fetch", finding=finding))

    assert SECRET not in shown.model_dump_json()
    assert (
        Finding(reference="fetched", outcome="passed", what=f"https://{MASK}@x.example/", seen=MASK)
        == shown.finding
    )


def test_an_event_without_a_secret_is_the_same_object() -> None:
    """Nothing is copied for the thousands of events that hold no secret."""
    event = Line(stage="compile", text="[1/2] Building CXX object a.o")

    assert event is Redactor([SECRET]).redact_event(event)


def test_our_own_words_are_not_secrets() -> None:
    """A secret that happens to be one of our words does not break an event."""
    event = StageFinished(stage="fetch", outcome="done", seconds=1.0)

    assert event == Redactor(["stage-finished"]).redact_event(event)


def test_a_report_is_redacted_through_tuples_and_mappings() -> None:
    """Evidence that a stage left in a mapping is redacted, numbers stay."""
    stage = StageReport(stage="fetch", outcome="done", seconds=1.0, evidence={"url": SECRET, "files": 3})
    report = RunReport(
        run="r", recipe="x", outcome="done", started="t", seconds=1.0, tool="0", stages=(stage,)
    )

    shown = Redactor([SECRET]).redact_model(report)

    assert shown.stages[0].evidence == {"url": MASK, "files": 3}
    assert Redactor([SECRET]).redact_value([SECRET, 1]) == [MASK, 1]


def test_an_error_is_redacted_in_every_field() -> None:
    """The same family and reference, and the secret in none of the fields."""
    error = StageError(
        "compile-failed",
        f"what {SECRET}",
        why=(f"why {SECRET}",),
        fix=f"Use {SECRET}",
        evidence=(f"line {SECRET}",),
        problems=(Problem(path=SECRET, seen=SECRET, wanted=SECRET, suggestion=SECRET),),
        link=f"/tmp/{SECRET}",
    )

    shown = Redactor([SECRET]).redact_error(error)

    assert (StageError, "compile-failed") == (type(shown), shown.reference)
    assert SECRET not in repr(vars(shown)) + str(shown)


def test_a_long_log_costs_little() -> None:
    """A hundred thousand lines of a compile log are redacted in well under two seconds of processor time."""
    redactor = Redactor([SECRET, "another-secret"])
    line = "[431/1377] Building CXX object caffe2/CMakeFiles/torch_cpu.dir/__/aten/src/ATen/native/A.cpp.o -DUSE=1"
    start = time.process_time()

    for _ in range(100_000):
        redactor.redact(line)

    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    "text", ["://" + ":" * 50_000, "password" * 20_000, "?" * 50_000 + "=", "%3a%2f%2f" * 9_000]
)
def test_hostile_text_does_not_hang(text: str) -> None:
    """A line made to be slow for regular expressions is done in seconds."""
    start = time.process_time()

    Redactor().redact(text)

    assert time.process_time() - start < 5
