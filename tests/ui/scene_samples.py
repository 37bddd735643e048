"""What the scenes show: models, a conversation, a validation, as the controllers would tell it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from app.chat.attachments import Attachment
from app.chat.transcript import Turn, TurnStats
from app.core.cards import Card
from app.core.device import Machine
from app.core.errors import MemoryShortageError
from app.core.events import ErrorInfo, LoadedModel
from app.core.machine_events import MachineDescribed, ModelSize
from app.core.memory_shortage import MemoryHolder, MemoryRemedy, MemoryShortage, RemedyKind
from app.core.sentence import Sentence
from app.core.validation_events import (
    Check,
    CheckStatus,
    Difference,
    DifferenceList,
    DifferenceState,
    PlannedCheck,
    RenderedPrompt,
    ValidationChain,
    ValidationReport,
    Verdict,
    VerdictStatus,
)
from app.hub.library import LibraryEntry
from app.validation.check import TITLES
from tests.ui.download_samples import GIB

MIB = 1 << 20
LONG_NAME = "DeepSeek-R1-Distill-Qwen-1.5B-abliterated-uncensored-2025-05-28.Q4_K_M"
HUB = "https://huggingface.co"
NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
ENTRIES = (
    LibraryEntry("Qwen3-4B", Path("/library/Qwen3-4B"), "Qwen3", "gguf", "t", 1, 2 * GIB, True),
    LibraryEntry("SmolLM2-135M", Path("/library/Smol"), "Llama", "gguf", "t", 1, 90 * MIB, True),
    LibraryEntry(LONG_NAME, Path("/library/long"), "Qwen2", "gguf", "t", 1, GIB, False),
)
MODEL = LoadedModel(
    name="Qwen3-4B",
    model_dir=ENTRIES[0].path,
    architecture="Qwen3ForCausalLM",
    device="cuda",
    device_note="NVIDIA GeForce RTX 3050 Laptop GPU",
    max_model_len=8192,
    weights_bytes=2 * GIB,
    kv_bytes_per_token=144 << 10,
    load_s=1.2,
    has_chat_template=True,
    precision="W4A16",
)
SHORTAGE = MemoryShortage(
    card="NVIDIA GeForce RTX 3050 Laptop GPU",
    needed_bytes=int(5.2 * GIB),
    free_bytes=3 * GIB,
    total_bytes=4 * GIB,
    max_model_len=32768,
    weights_bytes=int(2.3 * GIB),
    kv_bytes=int(2.7 * GIB),
    workspace_bytes=GIB // 5,
    remedies=(
        MemoryRemedy(RemedyKind.CONTEXT, 5888, int(2.3 * GIB)),
        MemoryRemedy(RemedyKind.INT8_KV, 11264, int(2.3 * GIB)),
        MemoryRemedy(RemedyKind.W3, 11008, int(1.8 * GIB)),
    ),
    holders=(MemoryHolder("chrome", GIB), MemoryHolder("DeepInfer", GIB // 4, is_own=True)),
)
CARD = Card("NVIDIA GeForce RTX 3050 Laptop GPU", (8, 6), 16, 4 * GIB, (12, 4), "0000:01:00.0")
SIZES = (
    ModelSize("1.5B", "cuda", 32_768, 90.0),
    ModelSize("3B", "cuda", 21_000, 45.0),
    ModelSize("7B", "cpu", 1900, 4.0),
    ModelSize("14B", "cpu", 0, 2.0),
)
SHORT = ErrorInfo.from_exception(
    MemoryShortageError("The model needs more.", detail="CUDA error 2", shortage=SHORTAGE)
)
MACHINE = MachineDescribed(
    machine=Machine("AMD Ryzen 5 5600H", 6, 12, 16 * GIB, 9 * GIB),
    instruction_set="avx2",
    card=CARD,
    card_problem="",
    card_free_bytes=3 * GIB,
    driver="551.23",
    disk_free_bytes=120 * GIB,
    sizes=SIZES,
)
QUESTION = "Compare quicksort with merge sort, with code and a table. 中文也可以。"
REPLY = """<think>
The user wants a comparison. A table, a short function, and the recurrence.
</think>
## Quicksort and merge sort

Both divide and conquer; they differ in *where* the work is done: quicksort **before** the
recursion, merge sort **after** it. See [the proof](https://example.org/proof).

```python
def quicksort(items: list[int]) -> list[int]:
    # A fresh list each time: short, not fast.
    if len(items) < 2:
        return items
    pivot, *rest = items
    smaller, larger = [x for x in rest if x < pivot], [x for x in rest if x >= pivot]
    return quicksort(smaller) + [pivot] + quicksort(larger)
```

| | Quicksort | Merge sort |
|---|---|---|
| average | O(n log n) | O(n log n) |
| worst case | O(n²) | O(n log n) |
| memory | O(log n) | O(n) |

The average cost solves $T(n) = 2\\,T(n/2) + c\\,n$, hence:

$$T(n) = \\sum_{i=0}^{\\log_2 n} c\\,n = O(n \\log n)$$

1. Choose a pivot, `items[0]` here.
2. Split, sort both sides.
   - what is smaller
   - what is not

> 快速排序在最坏情况下需要 O(n²) 的时间。
"""
STATS = TurnStats("stop", 512, 480, 341, 0.42, 38.4)
TURNS = (
    Turn(
        1,
        "user",
        QUESTION,
        NOW,
        attachments=(Attachment("数据结构与算法 - 第三章.md", "text"),),
        num_versions=2,
    ),
    Turn(2, "assistant", REPLY, NOW, "Qwen3-4B", STATS, parent_id=1, version=2, num_versions=3),
    Turn(3, "user", "And which one does Python use?", NOW, parent_id=2),
    Turn(4, "assistant", "Neither: Timsort.", NOW, LONG_NAME, STATS, True, parent_id=3),
)
CHAIN = ValidationChain(
    "gguf",
    "Qwen3ForCausalLM (qwen3)",
    "app.spec.adapters.qwen3",
    "qwen3",
    (("hidden_size", "2560"), ("head_dim", "128"), ("num_key_value_heads", "8")),
    ("reference", "cpu", "cuda"),
)
PLANNED = tuple(
    PlannedCheck(name, title)
    for name, title in (
        ("weights", TITLES["weights"]),
        ("smoke", TITLES["smoke_two_layers"]),
        ("tokens", TITLES["real_greedy"]),
        ("template", TITLES["chat_template"]),
    )
)
DIFFERENCES = (
    Difference(DifferenceList.MODEL, Sentence("q/k norm"), DifferenceState.SAME, "rms", "rms"),
    Difference(DifferenceList.DATA, "rope theta", DifferenceState.DIFFERENT, "1e6", "1e4"),
    Difference(
        DifferenceList.GENERATION, Sentence("stop tokens"), DifferenceState.UNCONFIRMED, "2", ""
    ),
)
PROMPTS = (
    RenderedPrompt(
        Sentence("system, user"), "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi"
    ),
)
_FAR = Sentence(
    "{subject}: {far} differ from transformers; {figures}.",
    subject=TITLES["smoke_two_layers"],
    far="cpu, prefill",
    figures=Sentence(
        "largest error {max_abs_error:.2g}, smallest cosine {cosine:.6f}",
        max_abs_error=0.41,
        cosine=0.987,
    ),
)
_TOO_LARGE = Sentence(
    "in float32 the model does not fit: {sizes}",
    sizes=Sentence("{needed} are needed, {free} are free", needed="18.0 GiB", free="9.4 GiB"),
)
_OUTCOMES: tuple[tuple[CheckStatus, Sentence, dict[str, float]], ...] = (
    (
        CheckStatus.PASS,
        Sentence(
            "{num_linears} matrices and {num_vectors} vectors, each with the shape that "
            "config.json means; none is missing, unexpected or mis-shaped.",
            num_linears=253,
            num_vectors=145,
        ),
        {"matrices": 253, "vectors": 145},
    ),
    (CheckStatus.FAIL, _FAR, {"cpu, prefill, max_abs_error": 0.41, "cpu, prefill, cosine": 0.987}),
    (CheckStatus.NOT_RUN, _TOO_LARGE, {}),
    (
        CheckStatus.PASS,
        Sentence(
            "{count} conversations render, {compared} of them compared with transformers', bos at "
            "most once.",
            count=4,
            compared=4,
        ),
        {"count": 4, "compared": 4},
    ),
)
# One for each of PLANNED, each state among them.
CHECKS = tuple(
    Check(row.name, row.title, *outcome) for row, outcome in zip(PLANNED, _OUTCOMES, strict=True)
)


def report_of() -> ValidationReport:
    """What `app.validation.verdict` makes of CHECKS."""
    return ValidationReport(
        name="Qwen3-4B",
        verdict=Verdict(VerdictStatus.REFUSED, _FAR),
        chain=CHAIN,
        reference="transformers 5",
        environment=(),
        differences=DIFFERENCES,
        checks=CHECKS,
        prompts=PROMPTS,
        unverified=(Sentence("{title}: {detail}", title=PLANNED[2].title, detail=_TOO_LARGE),),
        seconds=1.5,
        cpu_seconds=1.0,
    )


CRASH_REPORT = """DeepInfer crash report. It was saved on this computer and is sent nowhere.

== What happened ==
The engine ended by itself: signal 11.

== Machine ==
Version: 0.1.0, Python 3.11.9
System: Windows-10-10.0.19045-SP0

== Trace ==
Current thread 0x00001a2c (most recent call first):
  File "app/engine/executors/cpu/executor.py", line 141 in decode
  File "app/engine/engine.py", line 212 in step
"""
