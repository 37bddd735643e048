"""What the checks of one validation share: the subject, a scratch folder, and what was found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from app.core.events import Event
from app.core.jobs import CancelToken
from app.core.validation_events import Difference, RenderedPrompt
from app.spec.model_spec import ModelSpec
from app.validation.reference_model import ReferenceClass
from app.validation.subject import Subject


@dataclass(slots=True)
class Context:
    """`spec` and `reference` are set by the first rows; later rows are not run without them."""

    subject: Subject
    scratch: Path
    emit: Callable[[Event], None]
    cancel: CancelToken
    spec: ModelSpec | None = None
    reference: ReferenceClass | None = None
    differences: list[Difference] = field(default_factory=list)
    prompts: list[RenderedPrompt] = field(default_factory=list)
