"""OpenAI's objects of tools, read with care: a client wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def tool_function(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """The `function` of a tool; empty where it has none."""
    function = tool.get("function")
    return function if isinstance(function, Mapping) else {}


def tool_name(tool: Mapping[str, Any]) -> str:
    """What a tool is called by."""
    return str(tool_function(tool).get("name", ""))


def tool_parameters(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """The JSON Schema of a tool's arguments; of any object where it has none."""
    parameters = tool_function(tool).get("parameters")
    return {"type": "object", **(parameters if isinstance(parameters, Mapping) else {})}
