"""GET /metrics in Prometheus' text format (prometheus.io, "exposition formats")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from app.engine.metrics import CardCounts, EngineMetrics
from app.server.register import Register

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_Row = tuple[str, str, str, str]

# Field of EngineMetrics, name here, type, help.
_ENGINE = (
    ("num_running", "requests_running", "gauge", "Sequences in the engine's batch."),
    ("num_waiting", "requests_waiting", "gauge", "Sequences that wait for a place in it."),
    ("num_slots", "slots", "gauge", "Places in the engine's batch."),
    ("pages_used", "kv_pages_used", "gauge", "Pages of the KV cache that running sequences hold."),
    ("pages_cached", "kv_pages_cached", "gauge", "Pages that hold earlier prompts and replies."),
    ("pages_total", "kv_pages", "gauge", "Pages of the KV cache."),
    ("tokens_prefilled", "prompt_tokens_computed_total", "counter", "Prompt tokens computed."),
    ("tokens_cached", "prompt_tokens_cached_total", "counter", "Prompt tokens found in the cache."),
    ("tokens_decoded", "generation_tokens_total", "counter", "Tokens generated."),
    ("tokens_guessed", "draft_tokens_total", "counter", "Tokens guessed from the text so far."),
    ("tokens_held", "draft_tokens_accepted_total", "counter", "Guesses that were then drawn."),
    ("num_preemptions", "preemptions_total", "counter", "Sequences that had to begin again."),
)

# The same of CardCounts. By the rates of these and of the tokens generated: kernels for a token,
# and the share of the time for which the card computes.
_CARD = (
    ("num_replays", "card_graph_replays_total", "counter", "Graphs that the card replayed."),
    ("num_launches", "card_kernels_total", "counter", "Kernels in them."),
    ("busy_s", "card_busy_seconds_total", "counter", "Time for which they ran."),
)


def render_metrics(register: Register, engine: EngineMetrics) -> str:
    """The whole text. Counts of the engine are since the model was loaded, window's chat included;
    those of the port since it was opened. Of a card only where the model runs on one."""
    lines = [*_iter_port(register), *_iter_fields(engine, _ENGINE)]
    if engine.card is not None:
        lines += _iter_fields(engine.card, _CARD)
    return "\n".join(lines) + "\n"


def _iter_fields(counts: EngineMetrics | CardCounts, table: Iterable[_Row]) -> Iterator[str]:
    for field, name, kind, help_text in table:
        yield from _head(name, kind, help_text)
        yield f"deepinfer_{name} {getattr(counts, field)}"


def _iter_port(register: Register) -> Iterator[str]:
    yield from _head("http_requests_open", "gauge", "Requests worked on or waiting at the port.")
    yield f"deepinfer_http_requests_open {register.num_open}"
    yield from _head(
        "http_requests_total", "counter", "Requests that ended, or were turned away with 429."
    )
    for (path, status), number in sorted(register.num_by_status.items()):
        yield f'deepinfer_http_requests_total{{path="{path}",status="{status}"}} {number}'
    name = "time_to_first_token_seconds"
    yield from _head(name, "histogram", "From a request's arrival to its first token.")
    counts = register.ttft_s.cumulative()
    for bound, number in counts:
        yield f'deepinfer_{name}_bucket{{le="{bound}"}} {number}'
    yield f"deepinfer_{name}_sum {register.ttft_s.sum_s:.6f}"
    yield f"deepinfer_{name}_count {counts[-1][1]}"


def _head(name: str, kind: str, help_text: str) -> Iterable[str]:
    return f"# HELP deepinfer_{name} {help_text}", f"# TYPE deepinfer_{name} {kind}"
