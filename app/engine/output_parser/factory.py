"""Which parser a reply goes through."""

from __future__ import annotations

from app.engine.output_parser.format_parser import FormatParser
from app.engine.output_parser.harmony import HarmonyParser
from app.engine.output_parser.hermes import HermesParser
from app.engine.output_parser.listed_calls import ListedCallsParser
from app.engine.output_parser.llama3 import Llama3Parser
from app.engine.output_parser.mistral import MistralParser
from app.engine.output_parser.reasoning import PlainParser, ThinkParser
from app.engine.output_parser.reply_format import CallFormat, detect_format
from app.engine.output_parser.thought_text import ThoughtText
from app.engine.request import Request
from app.engine.stop_strings import StopStringMatcher
from app.engine.tokenizer import Tokenizer
from app.engine.tools import tool_name


def create_parser(tokenizer: Tokenizer, request: Request) -> FormatParser:
    """The parser for the text of the reply to `request`, which must have `shows_markers`.

    Calls are looked for only where the request has tools; the reply to a raw prompt is content.
    Raises UnsupportedError for a chat template that cannot be read.
    """
    if request.prompt is not None:
        return PlainParser()
    reply_format = detect_format(tokenizer, request)
    if reply_format.calls is CallFormat.HARMONY:
        return HarmonyParser()
    answer = _create_answer_parser(reply_format.calls, request) if request.tools else PlainParser()
    return ThinkParser(reply_format.think, answer)


def create_stop_strings(tokenizer: Tokenizer, request: Request) -> StopStringMatcher:
    """What the text of the reply passes through: stops, and thoughts in one form unless the caller
    parses them."""
    stops = request.sampling.stop
    if request.shows_markers or request.prompt is not None:
        return StopStringMatcher(stops)
    if not detect_format(tokenizer, request).thinks:
        return StopStringMatcher(stops)
    return ThoughtText(stops, create_parser(tokenizer, request))


def _create_answer_parser(calls: CallFormat, request: Request) -> FormatParser:
    match calls:
        case CallFormat.HERMES:
            return HermesParser(request.tools)
        case CallFormat.LLAMA3:
            return Llama3Parser({tool_name(tool) for tool in request.tools})
        case CallFormat.MISTRAL | CallFormat.MISTRAL_NAMED:
            return MistralParser()
        case CallFormat.LISTED:
            return ListedCallsParser()
        case _:
            return PlainParser()
