"""Markdown whose formulas can be read; code and prices are left alone."""

from __future__ import annotations

import re

from app.ui.math_text import readable_math

# Code first: what stands in it is never a formula. A dollar opens a formula before a sign and
# closes it behind one, not beside a letter or digit on its outer side ("from $5 to $10").
_SPAN = re.compile(
    r"""(?P<code>(?P<ticks>`+).+?(?<!`)(?P=ticks)(?!`))
    | \$\$(?P<display>.+?)\$\$
    | \\\[(?P<brackets>.+?)\\\]
    | \\\((?P<inline>.+?)\\\)
    | (?<![\w$\\])\$(?=[^\s$])(?P<dollars>[^$\n]*?[^\s$\\])\$(?![\w$])""",
    re.DOTALL | re.VERBOSE,
)
# "$10, or 5$": words behind a number, and nothing that is LaTeX.
_PRICE = re.compile(r"\d[\d.,]*\s+[A-Za-z][^\\^_={}]*")
_PUNCTUATION = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~$&])")
_FORMULAS = ("display", "brackets", "inline", "dollars")


def with_readable_math(markdown: str) -> str:
    """The same text, with each formula that is complete as plain text."""
    if "$" not in markdown and "\\" not in markdown:
        return markdown
    return _SPAN.sub(_replaced, markdown)


def _replaced(found: re.Match[str]) -> str:
    formula = next((found[name] for name in _FORMULAS if found[name] is not None), None)
    if formula is None or (found["dollars"] and _PRICE.fullmatch(formula)):
        return found[0]
    text = readable_math(formula)
    return _PUNCTUATION.sub(r"\\\1", text).replace("\n", "  \n")
