"""The first rows: the chain from configuration to executor, and the reference class."""

from __future__ import annotations

from app.core.sentence import Sentence
from app.engine.executors.cpu_plan import check_runnable
from app.spec.registry import create_spec
from app.validation.check import Outcome
from app.validation.context import Context
from app.validation.reference_model import find_reference
from app.validation.subject import describe_config


def check_recognised(context: Context) -> Outcome:
    """Sets the spec; raises UnsupportedError naming what is refused."""
    spec = create_spec(context.subject.config)
    check_runnable(spec)
    context.spec = spec
    described = describe_config(context.subject.raw_config)
    return Outcome(
        True,
        Sentence(
            "{described} is read by {adapter_path} as family {family}; the reference and cpu "
            "executors run it.",
            described=described,
            adapter_path=spec.adapter_path,
            family=spec.family,
        ),
        {
            "layers": spec.num_hidden_layers,
            "hidden_size": spec.hidden_size,
            "heads": spec.num_attention_heads,
            "kv_heads": spec.num_key_value_heads,
            "head_dim": spec.head_dim,
        },
    )


def check_reference(context: Context) -> Outcome:
    """Sets the reference class."""
    reference = find_reference(context.subject.config, context.cancel)
    context.reference = reference
    return Outcome(True, Sentence("{reference}.", reference=reference.text))
