"""Work for a client that may go away, or stop reading, at any moment."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.types import Receive

Result = TypeVar("Result")


class ClientGoneError(Exception):
    """The client closed its connection, or does not read what is sent."""


async def run_connected(
    work: Coroutine[Any, Any, Result], receive: Receive, overrun: asyncio.Event
) -> Result:
    """The result of `work`, which is cancelled when the connection ends or `overrun` is set.

    Raises ClientGoneError then. `receive` has given the whole body before.
    """
    main = asyncio.create_task(work)
    watches = (_wait_for_disconnect(receive), _wait_for(overrun))
    tasks = [main, *(asyncio.create_task(watch) for watch in watches)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not main.done():
            raise ClientGoneError
        return main.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _wait_for(event: asyncio.Event) -> None:
    await event.wait()


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
