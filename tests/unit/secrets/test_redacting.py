"""Z4: what is written as a secret is not told, in whatever form; what only resembles one is."""

from __future__ import annotations

import base64
import re

import pytest

from agentflow.errors import AgentflowError
from agentflow.secrets import redacting
from agentflow.secrets.known import learn, learn_environment, learn_url
from agentflow.secrets.redacting import MOST_TOLD, redact, redact_json, told

CANARY = "canary-7f3a9b"
KEY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj/" * 3 + "\n" + CANARY.replace("-", "/")
FORMS = [
    f"postgresql://me:{CANARY}@host/name",
    f"postgresql+psycopg://me:{CANARY}@host:5432/name?sslmode=require",
    f"postgresql://me:pa@ss/{CANARY}#x@host/name",
    f"https://{CANARY}@host/path",
    f"cannot reach 'http://user:{CANARY}@[::1]:80/x'.",
    f"http://{CANARY}:@host",
    f"host=db user=me password={CANARY} dbname=x",
    f"host=db password='{CANARY} and blanks' dbname=x",
    f"https://host/v1?api_key={CANARY}&x=1",
    f"https://host/v1?x=1&access_token={CANARY}",
    f"https://host/v1?X-Amz-Signature={CANARY}",
    f"https://host/v1?key={CANARY}#top",
    f"redirect=https%3A%2F%2Fme%3A{CANARY}%40host",
    f'{{"api_key": "{CANARY}"}}',
    f"{{'client_secret': '{CANARY}', 'x': 1}}",
    f"-H 'Authorization: Bearer {CANARY}'",
    f"authorization: Basic {CANARY}",
    f"x-api-key: {CANARY}",
    f"Cookie: {CANARY}",
    f"the bearer {CANARY} is over",
    f"AWS_SECRET_ACCESS_KEY={CANARY}",
    f"-----BEGIN PRIVATE KEY-----\n{KEY}\n-----END PRIVATE KEY-----",
    f'{{"x": "-----BEGIN EC PRIVATE KEY-----\\n{KEY}\\n-----END EC PRIVATE KEY-----"}}',
    f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A\n\n{KEY}",
    f"-----BEGIN OPENSSH PRIVATE KEY-----{KEY}",
    f"password: {CANARY}",
    f"the token: {CANARY}, which is old",
    f"db_password:   '{CANARY}'",
    f"login --password {CANARY} --verbose",
    f"login --token={CANARY}",
    f"deploy --db-password '{CANARY}'",
    f"tool --api-key {CANARY}",
    f"mysql -h db -u me -p{CANARY} shop",
    f"sshpass -p {CANARY} ssh host",
    f"curl -u me:{CANARY} https://host/",
    f"curl --user 'me:{CANARY}' https://host/",
    f"grant=x&client_secret%3D{CANARY}%26scope%3Dall",
    f"body=%7B%22password%22%3A%22{CANARY}%22%7D",
    f"machine host.example login me password {CANARY}",
    f"machine host.example\n  login me\n  password {CANARY}\n",
    f"default login me password {CANARY}",
]
HARMLESS = [
    "max_tokens=4096 is too large",
    "settings.llm_timeout_secs: must be at least 0, not the number -1",
    "worker_secret: must be a text, not a list",
    "https://example.com/path?email=someone@example.com",
    "tokens: 12, keys: 3",
    "Basic authentication failed",
    "There is no session 'token' in this database",
    "~/notes@home and a@b.c",
    "the token: it expired yesterday",
    "password: required, at least ten characters",
    "api_key: ${OPENAI_API_KEY} of the file",
    "set it with --token or --password and go on",
    "docker run --user 1000:1000 image",
    "mysql, then -p for the password",
    "docker run -p 8080:80 and -p8080:80",
    "mkdir -p/tmp/a1/b2",
    "tokens: 12,345 of 200000",
    "the secret: be patient",
    "machine learning: login with a password manager",
]


@pytest.mark.parametrize("text", FORMS)
def test_a_secret_is_taken_out_of_whatever_holds_it(text: str) -> None:
    assert CANARY not in redact(text)
    assert CANARY.replace("-", "/") not in redact(text)
    assert "***" in redact(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_a_text_without_a_secret_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "spelled",
    [
        "known value/1+2",
        "known%20value%2F1%2B2",
        "known+value%2F1%2B2",
        base64.b64encode(b"known value/1+2").decode().rstrip("="),
    ],
)
def test_a_known_value_is_replaced_however_it_is_spelled(spelled: str) -> None:
    learn("known value/1+2", "${KNOWN}")
    assert redact(f"<{spelled}>").startswith("<${KNOWN}")


def test_of_a_document_its_secret_members_are_known_too() -> None:
    key = "-----BEGIN KEY-----\\nMIIBVgIBADANBgkqhk\\n-----END KEY-----"
    learn(f'{{"type": "service_account", "private_key": "{key}"}}', "${ACCOUNT}")
    assert "MIIBVg" not in redact("at MIIBVgIBADANBgkqhk of it")
    assert redact("a service_account") == "a service_account"


def test_a_short_value_is_no_secret() -> None:
    learn("openai")
    assert redact("the model openai/x") == "the model openai/x"


def test_the_environment_is_read_by_the_names_of_its_variables() -> None:
    learn_environment({"SOME_API_KEY": "value-of-a-key-1", "LANGUAGE": "value-of-no-key"})
    assert redact("value-of-a-key-1 value-of-no-key") == "${SOME_API_KEY} value-of-no-key"


def test_parts_of_a_broken_address_are_known() -> None:
    learn_url("postgresql://me:first-half@9second-half/name@host/db")
    assert redact('invalid port "9second-half"') == 'invalid port "***"'
    assert redact("no host first-half") == "no host ***"


def test_a_name_of_a_database_user_is_a_plain_word() -> None:
    learn_url("postgresql://agentflow_user@host/db")
    assert redact("no role agentflow_user") == "no role agentflow_user"


def test_json_is_redacted_in_every_text_and_under_every_name() -> None:
    given = {"a": [f"token={CANARY}", 1, None], "password": CANARY, "max_tokens": 5}
    assert redact_json(given) == {"a": ["token=***", 1, None], "password": "***", "max_tokens": 5}


def test_no_error_of_ours_says_one() -> None:
    error = AgentflowError(f"not https://me:{CANARY}@host", detail={"url": f"https://me:{CANARY}@host"})
    assert CANARY not in f"{error} {error!r} {error.message} {error.as_dict()} {error.args}"


WORST = {
    "names": "token" * 200_000,
    "quotes": "password='" * 100_000,
    "addresses": "://@" * 250_000,
    "one word": "http://" + "a:b@" * 250_000,
    "parameters": "?" * 1_000_000,
    "a long parameter": "?" + "key" * 330_000,
    "encoded": "%3A%2F%2F" * 110_000,
    "bearers": "bearer " * 140_000,
    "basics": "basic " + "A" * 1_000_000,
    "blanks": "token" + " " * 1_000_000,
}


@pytest.mark.parametrize("text", WORST.values(), ids=WORST)
def test_a_million_characters_are_looked_at_about_once(text: str) -> None:
    """Z3: seconds for all of them; a pattern that looked at them again and again would take hours."""
    assert len(redact(text)) <= len(text)


def test_no_pattern_repeats_a_word_before_its_label() -> None:
    for _, pattern in redacting._WRITTEN:
        assert not re.match(r"\(\?P<label>\[[^]]*\][*+]", pattern.pattern)


@pytest.mark.parametrize("shift", [-20, -10, 0, 2_000])
def test_of_a_long_text_the_beginning_is_told_and_no_part_of_a_secret(shift: int) -> None:
    """Z3, Z4: of 20 million characters no more is looked through than anybody reads, wherever a secret is cut."""
    learn("corvus-" * 40)
    text = "x" * (MOST_TOLD + shift) + "corvus-" * 40 + "y" * 20_000_000
    shown = told(text)
    assert len(shown) <= MOST_TOLD
    assert "corvus" not in shown
    assert len(AgentflowError(text, detail={"said": [text]}).detail["said"][0]) <= MOST_TOLD


def test_a_long_text_of_nothing_but_secrets_tells_none_of_the_one_at_the_cut() -> None:
    secret = "larus-" + "0123456789" * 10
    learn(secret)
    assert "larus" not in told(" ".join([secret] * 10_000))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql:/me:broken-canary-1@host/x",
        "postgresql//me:broken-canary-2@host/x",
        "postgresql:\\\\me:broken-canary-3@host/x",
        "postgresql:me:broken-canary-4@host/x",
        "postgresql://me:broken-canary-5@ho st:port/x",
        "postgresql://me:broken-canary-6%zz@host",
        "postgresql://me:broken/canary?7@host",
    ],
)
def test_the_password_of_a_broken_address_is_told_nowhere(url: str) -> None:
    learn_url(url)
    assert "canary" not in redact(f"cannot read {url}: it is no address, in {url!r}")


def test_a_key_of_several_lines_is_not_told_line_by_line() -> None:
    """Also where its lines end otherwise, or stand in one."""
    lines = ["-----BEGIN PRIVATE KEY-----", "line-one-of-the-canary", "line-two-of-the-canary"]
    learn("\n".join(lines), "${KEY}")
    for joined in ("\n", "\r\n", " ", "", "\\n", "\n    "):
        assert "canary" not in redact(f"sent {joined.join(lines)} to nobody")
    assert "canary" not in redact("only line-two-of-the-canary")
