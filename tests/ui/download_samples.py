"""Answers of hubs and downloads under way, as the Download page is told of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from app.core.download_events import (
    DownloadingFile,
    DownloadProgressed,
    FoundRepository,
    GridContext,
    OfferedModel,
    RepositoriesFound,
    RepositoryFound,
)
from app.core.sentence import Sentence
from app.hub.download_queue import QueuedDownload

GIB = 1 << 30
SMALL = OfferedModel(
    name="Qwen3-4B-Q4_K_M",
    main="Qwen3-4B-Q4_K_M.gguf",
    num_bytes=4 * GIB,
    found_bytes=0,
    is_refused=False,
    reason=Sentence("It runs after conversion."),
    architecture="Qwen3ForCausalLM",
    grid="exact",
    max_context=9000,
    converted_bytes=4 * GIB,
    template="present",
    contexts=(
        GridContext("exact", 9000, 16000),
        GridContext("w4", 12000, 22000),
        GridContext("w3", 16000, 16000),
    ),
)
LARGE = replace(
    SMALL, name="Qwen3-4B-Q8_0", main="Qwen3-4B-Q8_0.gguf", num_bytes=8 * GIB, max_context=700
)
FOUND = RepositoryFound(
    reference="Qwen/Qwen3-4B-GGUF",
    repo_id="Qwen/Qwen3-4B-GGUF",
    revision="main",
    commit="0" * 40,
    license="apache-2.0",
    is_gated=False,
    downloads=120_000,
    machine=Sentence("No NVIDIA driver found."),
    models=(LARGE, SMALL),
    best=1,
    endpoint="https://huggingface.co",
)
RESULTS = RepositoriesFound(
    "qwen3 4b gguf",
    "https://huggingface.co",
    (
        FoundRepository("Qwen/Qwen3-4B-GGUF", 120_000, 310, "apache-2.0", False, "2025-05-21"),
        FoundRepository("meta-llama/Qwen3-4B-like", 99, 1, "", True, ""),
    ),
)
ENTRY = QueuedDownload(
    reference="Qwen/Qwen3-4B-GGUF",
    revision="main",
    commit="0" * 40,
    main=SMALL.main,
    name=SMALL.name,
    num_bytes=4 * GIB,
    converted_bytes=4 * GIB,
)
FOLDER_ENTRY = replace(ENTRY, reference="Qwen/Qwen3-4B", main="", name="Qwen3-4B")
RUNNING = DownloadProgressed(
    done_bytes=3 * GIB,
    total_bytes=4 * GIB,
    bytes_per_s=50e6,
    silent_s=0.1,
    is_stalled=False,
    eta_s=21.0,
    retry_after_s=10.0,
)
STALLED = replace(RUNNING, bytes_per_s=0.0, silent_s=7.0, is_stalled=True, eta_s=None)
SHARDS = tuple(
    DownloadingFile(
        f"model-{number:05d}-of-00012.safetensors",
        GIB if number < 3 else GIB // number,
        GIB,
        "done" if number < 3 else "running" if number < 7 else "waiting",
    )
    for number in range(1, 13)
)
ARRIVED = Path("/home/me/.cache/huggingface/hub/Qwen3-4B-Q4_K_M.gguf")
