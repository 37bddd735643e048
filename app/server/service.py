"""What all routes share: the engine, the limits, the list of requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from app.core.cleanup import undone_on_failure
from app.core.errors import AppError
from app.core.events import EngineState, LoadedModel
from app.engine.host import EngineHost
from app.engine.output_parser.factory import create_parser
from app.engine.output_parser.format_parser import FormatParser
from app.engine.output_parser.reasoning import PlainParser
from app.engine.request import Request
from app.server.choice import Choice
from app.server.connection import ClientGoneError, run_connected
from app.server.error_map import ApiError, to_api_error
from app.server.exchange import STATUS_GONE, Exchange
from app.server.generation import Generation
from app.server.json_bytes import to_json_bytes
from app.server.options import ServerOptions
from app.server.register import Register
from app.server.reply_form import ReplyForm
from app.server.stream import SseResponse

_MAX_CLIENT_CHARS = 60
_NOT_READY = {
    EngineState.LOADING: "The model is being loaded; try again in a moment.",
    EngineState.UNLOADING: "The model is being unloaded.",
    EngineState.FAILED: "The engine has failed; the model must be loaded again.",
}

# What a body asks of the engine, and the choices that its replies become.
Plan = tuple[Sequence[Request], Sequence[Choice], ReplyForm]


@dataclass(slots=True)
class Service:
    """`is_stopping`: the port is being closed, and takes nothing more."""

    host: EngineHost
    options: ServerOptions
    register: Register
    is_stopping: bool = field(default=False)

    def require_model(self) -> LoadedModel:
        """The loaded model; raises ApiError 503 where there is none."""
        model = self.host.model
        if self.is_stopping:
            raise ApiError(503, "The port is being closed.", code="server_stopping")
        if model is None:
            sentence = _NOT_READY.get(self.host.state, "No model is loaded.")
            raise ApiError(503, sentence, code="engine_not_ready")
        return model

    def create_parser(self, request: Request) -> FormatParser:
        """What takes the replies to a request apart; raises as the template does."""
        tokenizer = self.host.tokenizer
        return PlainParser() if tokenizer is None else create_parser(tokenizer, request)

    async def answer(
        self, http: HttpRequest, create_plan: Callable[[LoadedModel, str], Plan], *, streams: bool
    ) -> Response:
        """Lets the request in, generates, and replies. Raises ApiError."""
        model = self.require_model()
        client = name_client(http)
        requests, choices, form = create_plan(model, client)
        entry = self.register.open(client, model.name, http.url.path)
        generation = Generation(self.host, requests, self.options.max_buffered_events)
        entry.on_cancel(generation.cancel)
        exchange = Exchange(form, choices, generation, entry, self.options.keep_alive_s)
        # Where the loop is being stopped, or this file has a fault.
        with undone_on_failure(exchange.close_gone):
            try:
                if streams:
                    await run_connected(exchange.begin(), http.receive, generation.overrun)
                    return SseResponse(exchange, self.options.send_timeout_s)
                reply = await run_connected(exchange.run(), http.receive, generation.overrun)
            except AppError as error:
                exchange.close_failed(to_api_error(error))
                raise
            except ClientGoneError:
                exchange.close_gone()
                return Response(status_code=STATUS_GONE)
        exchange.close_finished()
        return Response(to_json_bytes(reply), media_type="application/json")


def name_client(http: HttpRequest) -> str:
    """The program as it calls itself, else its address."""
    agent = http.headers.get("user-agent", "")
    name = "".join(letter for letter in agent if letter.isprintable())[:_MAX_CLIENT_CHARS].strip()
    return name or (http.client.host if http.client else "")
