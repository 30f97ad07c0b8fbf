"""The public check of a request's signature (C34, Z7)."""

from __future__ import annotations

import hashlib
import hmac

import pytest

from agentflow.worker import SIGNATURE, TIMESTAMP, sign, verify

BODY = '{"trigger": "ü"}'.encode()
NOW = 1_900_000_000.5
AT = "1900000000"


def signed(timestamp: str = AT, body: bytes = BODY) -> dict[str, str]:
    return {TIMESTAMP: timestamp, SIGNATURE: sign("hush", timestamp, body)}


def test_the_signature_is_the_hmac_of_timestamp_point_and_body() -> None:
    expected = hmac.new(b"hush", AT.encode() + b"." + BODY, hashlib.sha256).hexdigest()
    assert sign("hush", AT, BODY) == f"sha256={expected}"


@pytest.mark.parametrize("offset", [-300, -299, 0, 299, 300])
def test_a_request_of_the_last_five_minutes_is_taken(offset: int) -> None:
    assert verify("hush", signed(str(1_900_000_000 + offset)), BODY, now=1_900_000_000)


@pytest.mark.parametrize("offset", [-301, 301, -86_400])
def test_an_older_or_later_one_is_refused(offset: int) -> None:
    assert not verify("hush", signed(str(1_900_000_000 + offset)), BODY, now=1_900_000_000)


@pytest.mark.parametrize("headers", [
    {}, {TIMESTAMP: AT}, {SIGNATURE: sign("hush", AT, BODY)}, signed() | {TIMESTAMP: "1900000001"},
    signed() | {SIGNATURE: "sha256=00"}, signed() | {SIGNATURE: "ü"}, signed("ü"), signed("-5"), signed("1e9"),
    signed("١٩٠٠٠٠٠٠٠٠"), signed("9" * 40), signed() | {SIGNATURE: "\udcff"}, signed() | {TIMESTAMP: "\udcff"},
])  # fmt: skip
def test_what_is_missing_wrong_or_strange_is_refused(headers: dict[str, str]) -> None:
    assert not verify("hush", headers, BODY, now=NOW)


def test_another_body_or_secret_is_refused() -> None:
    assert not verify("hush", signed(), BODY + b" ", now=NOW)
    assert not verify("other", signed(), BODY, now=NOW)


def test_header_names_may_be_written_in_any_case() -> None:
    assert verify("hush", {name.lower(): value for name, value in signed().items()}, BODY, now=NOW)
