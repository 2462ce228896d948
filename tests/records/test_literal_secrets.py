from __future__ import annotations

import pytest

from abi.records.literal_secrets import literal_secrets, looks_like_secret

# Put together here, so that no scanner takes this file for a leak.
SECRETS = [
    "sk-" + "proj-" + "Ab1" * 12,
    "AKIA" + "ABCDEFGH12345678",
    "ghp" + "_" + "a1B2" * 9,
    "xox" + "b-123456789012-abcdef",
    "AIza" + "x1Y2_" * 7,
    "-----BEGIN RSA " + "PRIVATE KEY-----",
    "postgres://" + "admin:hunter22@db.example.org/x",
    "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0" + ".dozjgNryP4J3jVmNHl0w5N",
    "api_key" + ": 9f8e7d6c5b4a39281706abcd",
    'password = "' + 'Correct1Horse2Battery"',
]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_found_and_not_repeated(secret: str) -> None:
    (finding,) = literal_secrets(f"one\ntwo {secret}\n", "p")
    assert (finding.line, finding.code) == (2, "secret-literal")
    assert secret not in str(finding)


@pytest.mark.parametrize(
    "text",
    [
        "password: CB_PASSWORD",
        "api_key: MY_SERVICE_API_KEY_2",
        "api_key = os.environ['OPENAI_API_KEY']",
        "secret: keep this between the two of us",
        "the task-force-for-sk-learn-and-other-long-names",
        "https://example.org/a:b@c",
        "password: ${PASSWORD}",
        "sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "postgres://{user}:{password}@host/db",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert literal_secrets(text, "p") == []


def test_one_value() -> None:
    assert looks_like_secret(SECRETS[0])
    assert not looks_like_secret("CB_PASSWORD")
