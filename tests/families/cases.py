"""All cases; a new family adds one to its file, or a file to this list."""

from tests.families import (
    deepseek_cases,
    dense_cases,
    gemma_cases,
    hybrid_cases,
    internlm_cases,
    llama_cases,
    moe_cases,
    phi_granite_cases,
)

CASES = [
    *llama_cases.CASES,
    *phi_granite_cases.CASES,
    *gemma_cases.CASES,
    *moe_cases.CASES,
    *deepseek_cases.CASES,
    *hybrid_cases.CASES,
    *dense_cases.CASES,
    *internlm_cases.CASES,
]
