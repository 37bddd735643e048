"""A lone reply of the starter model with and without guesses from its own text, each first in turn.

Tasks differ in how much of the reply stands in the prompt already. Tokens are the same on both
sides, which is checked; speeds are medians of the rounds, `held` is the share of guesses that were
then drawn. Prints JSON.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from app.checkpoint.reader import Checkpoint
from app.core.events import RequestFinished, TokensGenerated
from app.engine.engine import Engine
from app.engine.executors.cpu import CpuExecutor
from app.engine.request import Message, Request, SamplingParams
from app.engine.tokenizer import Tokenizer
from app.spec.registry import create_spec
from benchmarks.measure import Figures, command_line, own_home, print_json, run_json

_NUM_ROUNDS = 6
_NUM_TOKENS = 160
_CODE = """
def read_rows(path):
    rows = []
    with open(path) as file:
        for line in file:
            parts = line.strip().split(",")
            if len(parts) != 3:
                continue
            rows.append((parts[0], int(parts[1]), float(parts[2])))
    return rows
"""
_TEXT = (
    "The weather yesterday were very nice in the mountains, and we has gone on a long walk along "
    "the river, until the sun set behind the hills and the first stars appears in the sky."
)
_TASKS = {
    "changed code": f"Print this again with `rows` replaced by `items`:\n```python{_CODE}```",
    "a corrected text": f"Repeat the following text and correct its mistakes: {_TEXT}",
    "a story": "Write a short story about a lighthouse keeper and a storm.",
}


def measure(model_dir: Path) -> dict[str, Figures]:
    """The figures of each task."""
    speeds: defaultdict[tuple[str, bool], list[float]] = defaultdict(list)
    held: dict[str, float] = {}
    with _open(model_dir, guesses=True) as guessing, _open(model_dir, guesses=False) as plain:
        for round_number in range(_NUM_ROUNDS):
            for name, task in _TASKS.items():
                before, replies = guessing.metrics(), {}
                sides = ((True, guessing), (False, plain))
                for is_guessing, engine in sides[:: 1 if round_number % 2 else -1]:
                    replies[is_guessing], speed = _ask(engine, task)
                    speeds[name, is_guessing].append(speed)
                assert replies[True] == replies[False], "Guesses have changed a reply."
                after = guessing.metrics()
                num_guessed = after.tokens_guessed - before.tokens_guessed
                held[name] = (after.tokens_held - before.tokens_held) / max(1, num_guessed)
    return {name: _figures(speeds[name, True], speeds[name, False], held[name]) for name in _TASKS}


def _figures(guessing: list[float], plain: list[float], held: float) -> Figures:
    pairs = zip(guessing, plain, strict=True)
    return {
        "decode_tok_s": median(guessing),
        "plain_tok_s": median(plain),
        "ratio": median(one / other for one, other in pairs),
        "held": held,
    }


def _ask(engine: Engine, task: str) -> tuple[list[int], float]:
    """Token ids of the reply, and its tokens per second behind the first."""
    sampling = SamplingParams(temperature=0.0, max_tokens=_NUM_TOKENS)
    engine.add(Request(messages=(Message("user", task),), sampling=sampling))
    tokens: list[int] = []
    speed = 0.0
    while engine.has_work:
        for event in engine.step():
            if isinstance(event, TokensGenerated):
                tokens += event.token_ids
            elif isinstance(event, RequestFinished):
                speed = (event.usage.completion_tokens - 1) / event.usage.decode_s
    return tokens, speed


@contextmanager
def _open(model_dir: Path, *, guesses: bool) -> Iterator[Engine]:
    with Checkpoint.open(model_dir) as checkpoint:
        spec = create_spec(checkpoint.config)
        executor = CpuExecutor(checkpoint, spec, 1024, activations="int8")
        if not guesses:
            executor.max_draft_tokens = 0
        engine = Engine(executor, Tokenizer.from_dir(model_dir))
        try:
            yield engine
        finally:
            engine.close()


def main() -> dict[str, Figures]:
    """Converts the starter model first."""
    with own_home() as home:
        model_dir = home / "starter"
        run_json("-m", "app", "convert", "starter", "-o", str(model_dir), "--json")
        return measure(model_dir)


if __name__ == "__main__":
    command_line(__doc__).parse_args()
    print_json(main())
