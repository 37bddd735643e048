"""`<function=name><parameter=key>value</parameter></function>`: a call as an element."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from app.engine.tools import tool_name, tool_parameters

_FUNCTION = re.compile(r"<function=([^>\n]+)>(.*)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>\n]+)>\n?(.*?)\n?</parameter>", re.DOTALL)


def parse_function_element(text: str, tools: Sequence[Mapping[str, Any]]) -> tuple[str, str] | None:
    """(name, arguments as JSON); None for what is no such element.

    A value is JSON unless the tool's schema calls it a string, or it is no JSON.
    """
    function = _FUNCTION.search(text)
    if function is None:
        return None
    name, body = function[1].strip(), function[2]
    properties = _find_properties(name, tools)
    arguments = {
        key.strip(): _parse_value(value, properties.get(key.strip()))
        for key, value in _PARAMETER.findall(body)
    }
    return name, json.dumps(arguments, ensure_ascii=False)


def _find_properties(name: str, tools: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    parameters = next((tool_parameters(tool) for tool in tools if tool_name(tool) == name), {})
    properties = parameters.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _parse_value(text: str, schema: object) -> Any:
    if isinstance(schema, Mapping) and schema.get("type") == "string":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
