"""Formulas become text that says the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QTextDocument

from app.ui.math_markdown import with_readable_math
from app.ui.math_text import readable_math
from app.ui.rich_text import MarkdownWriter
from app.ui.theme import LIGHT


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"E = mc^2", "E = mc²"),
        (r"\frac{a}{b}", "a/b"),
        (r"\frac{1}{1-r}", "1/(1−r)"),
        (r"\frac{a+b}{2}", "(a+b)/2"),
        (r"\frac12", "1/2"),
        (r"\sqrt{2} \cdot \sqrt[3]{x+1}", "√2 ⋅ ∛(x+1)"),
        (r"\sum_{i=1}^{n} x_i", "∑ᵢ₌₁ⁿ xᵢ"),
        (r"\int_0^\infty e^{-x^2}\,dx", "∫₀^∞ e^(−x²) dx"),
        (r"\lim_{x \to 0} \frac{\sin x}{x}", "lim_(x → 0) (sin x)/x"),
        (r"\mathbf{x} \in \mathbb{R}^n", "x ∈ ℝⁿ"),
        (r"\text{if } x \le 0", "if x ≤ 0"),
        (r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}", "(a, b; c, d)"),
        (r"\begin{align*} a &= b \\ &= c \end{align*}", "a = b\n= c"),
        (r"\left( \alpha + \beta \right.", "( α + β"),
        (r"\{1, 2\}", "{1, 2}"),
        (r"90^\circ", "90°"),
        (r"\hat{y}", "y\u0302"),
        (r"\unknown x", r"\unknown x"),
        (r"x_{i,j}^{k+q}", "x_(i,j)^(k+q)"),
        (r"e^{i\pi} + x_{max}^{(q)}", "e^(iπ) + x_max^(q)"),
    ],
)
def test_formulas_can_be_read(latex: str, text: str) -> None:
    assert readable_math(latex) == text


@pytest.mark.parametrize(
    "latex", [r"\frac{", r"x^", "{" * 500 + "}" * 500, r"\begin{cases} x", "a" * 30_000]
)
def test_what_cannot_be_read_stays(latex: str) -> None:
    assert readable_math(latex) == latex


PIECES = [*r"\{}^_&$ab12+-=()[]", r"\frac", r"\sqrt", r"\begin", r"\end", r"\left", r"\\"]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_nothing_makes_it_fail(latex: str) -> None:
    assert isinstance(readable_math(latex), str)
    text = with_readable_math(f"a ${latex}$ b")
    assert text.startswith("a ")
    assert text.endswith(" b")


def shown(markdown: str) -> str:
    document = QTextDocument()
    MarkdownWriter(document, LIGHT).replace_tail(markdown)
    return document.toPlainText()


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        (r"So $a_1 * b_2 * c$ holds.", "So a₁ * b₂ * c holds."),
        (r"So \(x^2\) and *more*.", "So x² and more."),
        ("$$\\frac{a}{b}$$", "a/b"),
        ("\\[\n a &= b \\\\ &= c\n\\]", "a = b\n= c"),
        ("It costs $5 to $10, or 5$ and 6$.", "It costs $5 to $10, or 5$ and 6$."),
        ("Run `echo $HOME $PATH` now", "Run echo $HOME $PATH now"),
        ("`` `$x^2$` ``", "`$x^2$`"),
        (r"An open $x^2", "An open $x^2"),
        (r"$ x $ is none", "$ x $ is none"),
        (r"$\alpha$ and $\beta$", "α and β"),
        ("| a | b |\n|---|---|\n| $x^2$ | $y_1$ |", "a\nb\nx²\ny₁"),
    ],
)
def test_formulas_in_markdown(qapp: object, markdown: str, text: str) -> None:
    assert shown(markdown).strip() == text
