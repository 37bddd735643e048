"""config -> ArchitectureAdapter -> ModelSpec -> executor, as texts."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from app.core.errors import UnsupportedError
from app.core.validation_events import ValidationChain
from app.spec.model_spec import ModelSpec
from app.spec.registry import create_spec
from app.validation.context import Context
from app.validation.subject import describe_config

EXECUTORS = ("reference", "cpu")


def describe_chain(context: Context) -> ValidationChain:
    """As far as it goes: without an adapter the chain ends at the configuration."""
    subject = context.subject
    described = describe_config(subject.raw_config)
    try:
        spec = context.spec or create_spec(subject.config)
    except UnsupportedError:
        return ValidationChain(subject.format, described)
    return ValidationChain(
        format=subject.format,
        config=described,
        adapter=spec.adapter_path,
        family=spec.family,
        spec=tuple((field.name, _text(getattr(spec, field.name))) for field in fields(ModelSpec)),
        executors=EXECUTORS,
    )


def _text(value: Any) -> str:
    if isinstance(value, tuple) and len(value) > 1:
        return _grouped([_text(entry) for entry in value])
    return str(value)


def _grouped(texts: list[str]) -> str:
    """`a x3, b`, since layers repeat."""
    groups: list[tuple[str, int]] = []
    for text in texts:
        if groups and groups[-1][0] == text:
            groups[-1] = (text, groups[-1][1] + 1)
        else:
            groups.append((text, 1))
    return ", ".join(text if count == 1 else f"{text} x{count}" for text, count in groups)
