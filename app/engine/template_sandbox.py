"""A Jinja sandbox that also bounds how long a template runs and how much text it makes.

Jinja's own sandbox keeps a template away from Python, but not from looping for hours or doubling a
string until memory is gone. Every loop step, call and assignment therefore passes through a check,
which is put in when the template is compiled.
"""

from __future__ import annotations

import re
import time
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.parser
import jinja2.runtime
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from app.core.sentence import Sentence

MAX_TEXT_CHARS = 8 * 1024 * 1024
MAX_RENDER_S = 10.0
_WIDE_FORMAT = re.compile(r"%[^%a-zA-Z]*\d{6}")


class _GenerationTag(jinja2.ext.Extension):
    """`{% generation %}...{% endgeneration %}` marks the model's own words for training."""

    tags = {"generation"}  # noqa: RUF012 - jinja2 declares it as a set

    def parse(self, parser: jinja2.parser.Parser) -> list[jinja2.nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _WatchedLoop:
    """An iterable whose every step is checked; as long as what it wraps, for `loop.length`."""

    def __init__(self, values: Any, environment: BoundedEnvironment) -> None:
        self._values = values
        self._environment = environment

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        for value in self._values:
            self._environment.check_time()
            yield value


class _CheckInserter(NodeTransformer):
    """Wraps what a template loops over, assigns and concatenates in the environment's checks."""

    def visit_For(self, node: jinja2.nodes.For) -> jinja2.nodes.Node:
        self.generic_visit(node)
        node.iter = _apply("_watched_loop", node.iter)
        return node

    def visit_Assign(self, node: jinja2.nodes.Assign) -> jinja2.nodes.Node:
        self.generic_visit(node)
        node.node = _apply("_checked_size", node.node)
        return node

    def visit_AssignBlock(self, node: jinja2.nodes.AssignBlock) -> jinja2.nodes.Node:
        self.generic_visit(node)
        node.filter = _apply("_checked_size", node.filter)
        return node

    def visit_Concat(self, node: jinja2.nodes.Concat) -> jinja2.nodes.Node:
        self.generic_visit(node)
        return _apply("_joined", jinja2.nodes.List(node.nodes, lineno=node.lineno))


def _apply(name: str, node: jinja2.nodes.Node | None) -> jinja2.nodes.Filter:
    return jinja2.nodes.Filter(node, name, [], [], None, None, lineno=node.lineno if node else 1)


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """transformers' settings: trimmed blocks, loop controls, the `generation` tag.

    Checks raise `jinja2.TemplateRuntimeError`. One rendering at a time is timed: one that starts
    meanwhile on another thread only prolongs the time of the first.
    """

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self) -> None:
        extensions: Sequence[type[jinja2.ext.Extension]] = [
            _GenerationTag,
            jinja2.ext.LoopControlExtension,
        ]
        super().__init__(trim_blocks=True, lstrip_blocks=True, extensions=extensions)
        self.filters["_watched_loop"] = self._watch_loop
        self.filters["_checked_size"] = self.check_size
        self.filters["_joined"] = self._join
        for name in ("center", "indent", "format"):
            self.filters[name] = self._check_widths(self.filters[name])
        self.start_clock()

    def compile_bounded(self, source: str) -> jinja2.Template:
        """Compiles with the checks put in. Raises `jinja2.TemplateSyntaxError`."""
        return self.from_string(_CheckInserter().visit(self.parse(source)))

    def start_clock(self) -> None:
        """A rendering begins."""
        self._deadline_s = time.monotonic() + MAX_RENDER_S

    def check_time(self) -> None:
        """Raises when the rendering has had its time."""
        if time.monotonic() > self._deadline_s:
            raise jinja2.TemplateRuntimeError(
                Sentence("it ran for more than {seconds:g} seconds", seconds=MAX_RENDER_S)
            )

    def check_size(self, value: Any) -> Any:
        """Gives `value` back unless it is a text or list beyond the limit."""
        self._check_length(_length(value))
        return value

    def call(self, context: jinja2.runtime.Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Every call that a template makes, macros included."""
        self.check_time()
        if isinstance(obj, types.BuiltinMethodType):  # such as 'x'.ljust
            self._check_arguments(args)
        return self.check_size(super().call(context, obj, *args, **kwargs))

    def call_binop(
        self, context: jinja2.runtime.Context, operator: str, left: Any, right: Any
    ) -> Any:
        """The operators that can make something huge out of something small."""
        self.check_time()
        if operator == "*":
            self._check_length(_length(left) * _times(right), _length(right) * _times(left))
        elif operator == "**" and not (_times(right) <= 64 and _times(left) <= 2**32):
            raise jinja2.TemplateRuntimeError(Sentence("it computes a huge power"))
        elif operator == "%" and isinstance(left, str):
            self._check_arguments((left,))
        return self.check_size(super().call_binop(context, operator, left, right))

    def _check_widths(self, function: Callable[..., str]) -> Callable[..., str]:
        """A filter that pads, whose numbers are checked."""

        def checked(*args: Any, **kwargs: Any) -> str:
            self._check_arguments((*args, *kwargs.values()))
            return function(*args, **kwargs)

        return checked

    def _check_arguments(self, values: Iterable[Any]) -> None:
        for value in values:
            if isinstance(value, str) and _WIDE_FORMAT.search(value):
                raise jinja2.TemplateRuntimeError(Sentence("it formats text to a huge width"))
            self._check_length(_times(value))

    def _watch_loop(self, values: Iterable[Any]) -> _WatchedLoop:
        return _WatchedLoop(values, self)

    def _join(self, values: list[Any]) -> str:
        texts = [str(value) for value in values]
        self._check_length(sum(map(len, texts)))
        return "".join(texts)

    def _check_length(self, *lengths: int) -> None:
        if max(lengths) > MAX_TEXT_CHARS:
            raise jinja2.TemplateRuntimeError(
                Sentence("it makes more than {count:,} characters", count=MAX_TEXT_CHARS)
            )


def _length(value: Any) -> int:
    return len(value) if isinstance(value, (str, list, tuple)) else 0


def _times(value: Any) -> int:
    return int(abs(value)) if isinstance(value, (int, float)) else 0
