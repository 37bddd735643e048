"""Which of a repository's models to take where the user leaves it to us."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.errors import UnsupportedError
from app.download.offer import Offer

# Tokens: a conversation that is no longer cramped.
ROOMY_CONTEXT = 4096


def best(offers: Sequence[Offer]) -> Offer:
    """The largest that leaves room for a conversation; without one, the smallest that runs.

    Raises UnsupportedError where all are refused.
    """
    able = [offer for offer in offers if offer.status != "refused"]
    if not able:
        raise UnsupportedError(offers[0].reason)
    contexts = [offer.row.max_context if offer.row else 0 for offer in able]
    # A model may have been made for less.
    enough = min(ROOMY_CONTEXT, max(contexts))
    roomy = [o for o, context in zip(able, contexts, strict=True) if 0 < enough <= context]
    if roomy:
        return max(roomy, key=lambda offer: offer.plan.num_bytes)
    return min(able, key=lambda offer: offer.plan.num_bytes)
