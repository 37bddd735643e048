"""LaTeX formulas as text that can be read: Unicode where it has the signs, brackets where not.

`\\frac{a+b}{c}` becomes `(a+b)/c`, `x^2` `x²`, `\\sum_{i=1}^n` `∑ᵢ₌₁ⁿ`. It is not typesetting: the
order of the signs is kept, so that a formula can be copied, searched and read aloud. The names of
signs are unicodeit's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_TOKEN = re.compile(r"\\[A-Za-z]+\*?|\\.|[{}^_&]|\s+|[^\\{}^_&\s]", re.DOTALL)
_SUPERSCRIPTS = str.maketrans("0123456789+-=()aijknxyTc'−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃⁱʲᵏⁿˣʸᵀᶜ'⁻")
_SUBSCRIPTS = str.maketrans("0123456789+-=()aeijknoptx−", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑᵢⱼₖₙₒₚₜₓ₋")
_ACCENTS = {
    "hat": "\u0302",
    "widehat": "\u0302",
    "bar": "\u0304",
    "overline": "\u0305",
    "tilde": "\u0303",
    "widetilde": "\u0303",
    "vec": "\u20d7",
    "dot": "\u0307",
    "ddot": "\u0308",
    "underline": "\u0332",
}
_SPACES = {
    ",": " ",
    ":": " ",
    ";": " ",
    " ": " ",
    "quad": "  ",
    "qquad": "    ",
    "!": "",
    "\\": "\n",
}
_PLAIN = re.compile(r"(?:text|math)(?:bf|it|rm|sf|tt)?|mbox|operatorname\*?|boldsymbol|bm|boxed")
_LETTERS = ("mathbb", "mathcal", "mathfrak", "mathscr")
_FRACTIONS = ("frac", "dfrac", "tfrac", "cfrac")
_BRACKETS = {
    "pmatrix": ("(", ")"),
    "bmatrix": ("[", "]"),
    "vmatrix": ("|", "|"),
    "matrix": ("[", "]"),
    "cases": ("{ ", ""),
}
_SILENT = re.compile(
    r"(?:display|text)style|(?:no)?limits|nonumber|[bB]igg?[lr]?|left|right|middle"
)
_WORDS = re.compile(
    r"(?:arc)?(?:sin|cos|tan)h?|log|ln|exp|lim|(?:arg)?(?:max|min)|sup|inf|det|dim|arg|gcd|deg|Pr"
)
_ROOTS = {"3": "∛", "4": "∜"}
_LONGEST_FORMULA = 20_000
_MOST_NESTED = 60


def readable_math(latex: str) -> str:
    """One formula, without the dollars around it; as it is where it cannot be read."""
    if len(latex) > _LONGEST_FORMULA:
        return latex
    try:
        text = _Reader(latex).read_all()
    except (IndexError, RecursionError):
        return latex
    lines = (re.sub(r"[ \t]+", " ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


class _Reader:
    """Reads from left to right; IndexError where something is missing at the end."""

    def __init__(self, latex: str) -> None:
        self._tokens = _TOKEN.findall(latex)
        self._next = 0
        self._depth = 0

    def read_all(self) -> str:
        return "".join(self._iter_parts(""))

    def _iter_parts(self, end: str) -> Iterator[str]:
        """The text up to the token `end`, or to the end of the formula for ''."""
        while self._next < len(self._tokens):
            token = self._take()
            if token == end:
                return
            yield self._read(token)
        if end:
            raise IndexError(end)

    def _take(self) -> str:
        token = self._tokens[self._next]
        self._next += 1
        return token

    def _read(self, token: str) -> str:
        if token == "{":
            return self._nested("}")
        if token in "^_":
            return self._script(token)
        if token.startswith("\\"):
            return self._command(token[1:])
        if token.isspace():
            return " "
        return {"&": " ", "~": " ", "-": "−", "}": ""}.get(token, token)

    def _nested(self, end: str) -> str:
        self._depth += 1
        if self._depth > _MOST_NESTED:
            raise RecursionError
        text = "".join(self._iter_parts(end))
        self._depth -= 1
        return text

    def _argument(self) -> str:
        """The next group, or the next sign alone."""
        token = self._take()
        while token.isspace():
            token = self._take()
        return self._read(token)

    def _script(self, kind: str) -> str:
        text = self._argument().strip()
        table = _SUPERSCRIPTS if kind == "^" else _SUBSCRIPTS
        if text in ("∘", "′", "∗", "*"):
            return {"∘": "°"}.get(text, text)
        raised = text.replace(" ", "")
        if raised and all(ord(sign) in table for sign in raised):
            return raised.translate(table)
        grouped = _grouped(text)
        if kind == "^" and len(text) > 1 and not grouped.startswith("("):
            return f"^({text})"  # e^iπ could be e^i times π
        return kind + grouped

    def _command(self, name: str) -> str:
        if name in _SPACES:
            return _SPACES[name]
        if name in _FRACTIONS:
            return f"{_grouped(self._argument())}/{_grouped(self._argument())}"
        if name in ("binom", "dbinom"):
            return f"C({self._argument()}, {self._argument()})"
        if name == "sqrt":
            return self._root()
        if _PLAIN.fullmatch(name):
            return self._argument()
        if name in _LETTERS:
            return _sign(f"\\{name}{{{self._argument()}}}")
        if name in _ACCENTS:
            text = self._argument()
            return text + _ACCENTS[name] if len(text) == 1 else f"{_grouped(text)}{_ACCENTS[name]}"
        return self._structure(name)

    def _structure(self, name: str) -> str:
        if name == "begin":
            return self._environment()
        if name in ("left", "right") and self._tokens[self._next] == ".":
            self._next += 1
            return ""
        if _SILENT.fullmatch(name):
            return ""
        if _WORDS.fullmatch(name):
            return self._word(name)
        if len(name) == 1 and not name.isalpha():
            return name  # an escaped sign: \{ \% \_
        return _sign(f"\\{name}")

    def _word(self, name: str) -> str:
        """A function's name keeps its distance, but not from its own index or bracket."""
        following = self._tokens[self._next : self._next + 1]
        return name if following and following[0] in "^_({[ " else f"{name} "

    def _root(self) -> str:
        degree = ""
        if self._tokens[self._next] == "[":
            self._next += 1
            degree = self._nested("]").strip()
        sign = _ROOTS.get(degree, degree.translate(_SUPERSCRIPTS) + "√" if degree else "√")
        return sign + _grouped(self._argument())

    def _environment(self) -> str:
        name = self._argument().rstrip("*").strip()
        if name in ("array", "tabular"):
            self._argument()
            name = "matrix"
        parts: list[str] = []
        while (token := self._take()) != "\\end":
            parts.append(", " if token == "&" and name in _BRACKETS else self._read(token))
        self._argument()
        text = "".join(parts)
        if name not in _BRACKETS:
            return text
        rows = (re.sub(r"\s*,\s*", ", ", row).strip() for row in text.split("\n"))
        opening, closing = _BRACKETS[name]
        return opening + "; ".join(row for row in rows if row) + closing


def _grouped(text: str) -> str:
    """In brackets unless it is one thing."""
    text = text.strip()
    is_one = re.fullmatch(r"[\w.′'°]+[⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ₀-₉ᵢⱼₙ]*|.[\u0300-\u036f\u20d7]?|√\w+", text)
    if is_one or re.fullmatch(r"\([^()]*\)", text):
        return text
    return f"({text})"


@lru_cache(maxsize=1024)
def _sign(command: str) -> str:
    """The sign that a command stands for; the command itself where there is none."""
    import unicodeit

    return str(unicodeit.replace(command))
