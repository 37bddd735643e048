"""What the checks of one validation share: the subject, a scratch folder, and what was found."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from app.core.events import Event
from app.core.jobs import CancelToken
from app.core.sentence import Sentence
from app.core.validation_events import Difference, RenderedPrompt
from app.spec.model_spec import ModelSpec
from app.validation.check import NotRunError
from app.validation.reference_model import ReferenceClass
from app.validation.subject import Subject


@dataclass(slots=True)
class RealReference:
    """transformers with the real weights: logits of the prompt [n, vocab_size], and what it says
    next, greedily, with how far apart the best two logits were each time."""

    logits: npt.NDArray[np.float32]
    tokens: list[int] = field(default_factory=list)
    margins: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Context:
    """`spec` and `reference` are set by the first rows; later rows are not run without them."""

    subject: Subject
    scratch: Path
    emit: Callable[[Event], None]
    cancel: CancelToken
    spec: ModelSpec | None = None
    reference: ReferenceClass | None = None
    real_reference: RealReference | None = None
    differences: list[Difference] = field(default_factory=list)
    prompts: list[RenderedPrompt] = field(default_factory=list)

    @property
    def needed_spec(self) -> ModelSpec:
        """Raises NotRunError when the configuration was refused."""
        if self.spec is None:
            raise NotRunError(Sentence("the configuration was refused"))
        return self.spec

    @property
    def needed_reference(self) -> ReferenceClass:
        """Raises NotRunError when there is no reference."""
        if self.reference is None:
            raise NotRunError(Sentence("there is no reference to compare with"))
        return self.reference

    def drop(self, folder: Path) -> None:
        """Gives the disk back before the next row."""
        shutil.rmtree(folder, ignore_errors=True)
