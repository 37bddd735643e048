"""The semantics of `ModelSpec`, plain and readable: torch, float32, one layer after the other.

This package needs torch; only `executors.factory` imports it, and only when it is asked for.
Computations follow transformers' `models/*/modeling_*.py`; what differs between families is a field
of the spec.
"""

from app.engine.executors.reference.executor import ReferenceExecutor

__all__ = ["ReferenceExecutor"]
