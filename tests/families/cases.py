"""All cases; a new family adds one to its file, or a file to this list."""

from tests.families import dense_cases, internlm_cases, llama_cases, moe_cases

CASES = [*llama_cases.CASES, *moe_cases.CASES, *dense_cases.CASES, *internlm_cases.CASES]
