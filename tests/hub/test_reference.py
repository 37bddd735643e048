"""One field takes words, repositories, files and addresses."""

from __future__ import annotations

import pytest

from app.core.errors import UsageError
from app.hub.reference import HubReference, SearchWords, parse_reference

REPO = "Qwen/Qwen3-4B-GGUF"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (REPO, HubReference(REPO)),
        (f"  {REPO} ", HubReference(REPO)),
        (f"{REPO}:Q4_K_M", HubReference(REPO, wanted="Q4_K_M")),
        (f"{REPO}:sub/Qwen3 4B.gguf", HubReference(REPO, wanted="sub/Qwen3 4B.gguf")),
        (f"{REPO}@v1.0:Q8_0", HubReference(REPO, "v1.0", "Q8_0")),
        (f"{REPO}@refs/pr/3", HubReference(REPO, "refs/pr/3")),
        (f"https://huggingface.co/{REPO}", HubReference(REPO)),
        (f"https://huggingface.co/{REPO}/", HubReference(REPO)),
        (f"https://huggingface.co/models/{REPO}", HubReference(REPO)),
        (f"hf.co/{REPO}:Q4_K_M", HubReference(REPO, wanted="Q4_K_M")),
        (f"huggingface.co/{REPO}", HubReference(REPO)),
        (
            f"https://huggingface.co/{REPO}/blob/main/Qwen3-4B-Q4_K_M.gguf",
            HubReference(REPO, wanted="Qwen3-4B-Q4_K_M.gguf"),
        ),
        (
            f"https://huggingface.co/{REPO}/resolve/abc123/sub/a%20b.gguf?download=true",
            HubReference(REPO, "abc123", "sub/a b.gguf"),
        ),
        (f"https://huggingface.co/{REPO}/tree/main", HubReference(REPO)),
        (
            f"https://mirror.example:8443/{REPO}",
            HubReference(REPO, endpoint="https://mirror.example:8443"),
        ),
        (f"<https://huggingface.co/{REPO}>", HubReference(REPO)),
        ("qwen3 4b", SearchWords("qwen3 4b")),
        ("千问", SearchWords("千问")),
        ("smollm", SearchWords("smollm")),
        ("a/b/c", SearchWords("a/b/c")),
    ],
)
def test_what_is_typed(text: str, expected: HubReference | SearchWords) -> None:
    assert parse_reference(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "https://huggingface.co/",
        "https://huggingface.co/datasets/org/name",
        "https://huggingface.co/spaces/org/name",
        "https://huggingface.co/org",
        "https://huggingface.co/../../etc/passwd/x",
        "http://[x/org/name",
    ],
)
def test_what_is_no_repository(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_reference(text)
    assert "\n" not in refused.value.message
