"""The starter model in a long conversation: each turn computes what is new, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.engine.host import EngineHost
from app.engine.host_options import HostOptions
from app.engine.metrics import EngineMetrics
from app.engine.request import Message, Request, SamplingParams
from app.engine.request_handle import Completion

GREEDY = SamplingParams(temperature=0.0, max_tokens=24)
SYSTEM = Message("system", "You answer in one short sentence.")
STORY = " ".join(f"On day {n} the keeper of the lighthouse wrote a letter." for n in range(1, 141))


class Conversation:
    """Turns with a host, and what each of them added to its counters."""

    def __init__(self, host: EngineHost, cache_key: str | None = None) -> None:
        self.host, self.cache_key = host, cache_key
        self.turns: tuple[Message, ...] = (SYSTEM,)

    def ask(self, *turns: Message) -> tuple[Completion, int]:
        """The reply to these turns, and how many tokens were prefilled for it."""
        before = self.host.metrics().tokens_prefilled
        request = Request(messages=turns, sampling=GREEDY, cache_key=self.cache_key)
        reply = self.host.submit(request).result()
        return reply, self._settled().tokens_prefilled - before

    def _settled(self) -> EngineMetrics:
        """The counters are told at the end of a step, behind its events."""
        while (metrics := self.host.metrics()).num_running + metrics.num_waiting:
            time.sleep(0.001)
        return metrics


@pytest.fixture
def host(starter_checkpoint: Path, tmp_path: Path) -> Iterator[EngineHost]:
    with EngineHost(options=HostOptions(kv_dir=tmp_path / "kv")) as host:
        host.load_and_wait(starter_checkpoint, device="cpu", max_model_len=4096)
        yield host


@pytest.mark.slow
def test_the_second_turn_of_2000_tokens_prefills_only_what_is_new(
    host: EngineHost, starter_checkpoint: Path
) -> None:
    conversation = Conversation(host, cache_key="letters")
    question = Message("user", f"{STORY} How many letters are there?")
    first, num_first = conversation.ask(SYSTEM, question)
    num_prompt = first.usage.prompt_tokens
    assert num_prompt > 1950
    assert num_first == num_prompt
    next_question = Message("user", "And who reads them?")
    turns = (SYSTEM, question, Message("assistant", first.text), next_question)
    second, num_second = conversation.ask(*turns)
    # The reply's last token was drawn, but not computed.
    assert second.usage.cached_tokens == num_prompt + len(first.token_ids) - 1
    assert num_second == second.usage.prompt_tokens - second.usage.cached_tokens < 30
    regenerated, num_again = conversation.ask(*turns)
    assert (regenerated.text, num_again) == (second.text, 1)
    edited, num_edited = conversation.ask(*turns[:-1], Message("user", "And who writes them?"))
    assert num_edited == edited.usage.prompt_tokens - edited.usage.cached_tokens < 10
    # After a restart the pages come from the disk.
    host.load_and_wait(starter_checkpoint, device="cpu", max_model_len=4096)
    restored, num_restored = conversation.ask(*turns)
    assert restored.text == second.text
    assert num_restored == restored.usage.prompt_tokens - restored.usage.cached_tokens < 30


def test_eight_clients_with_one_system_prompt_say_what_they_say_alone(host: EngineHost) -> None:
    """Greedy on the cpu executor, whose sums do not depend on what runs beside."""
    questions = [
        f"What comes after {word}?" for word in ["one", "two", "three", "four", "A", "B", "C", "D"]
    ]
    turns = [(SYSTEM, Message("user", question)) for question in questions]
    requests = [Request(messages=each, sampling=GREEDY) for each in turns]
    together = [handle.result().token_ids for handle in [host.submit(r) for r in requests]]
    alone = [
        host.submit(Request(messages=each, sampling=GREEDY)).result().token_ids for each in turns
    ]
    assert together == alone
