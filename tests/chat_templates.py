"""Small templates of the formats that published models use, written for these tests.

What they share with the published ones is the format of turns, tools, calls and results, and the
features of Jinja and of transformers' environment that it takes to write them.
"""

from __future__ import annotations

CHATML = """{% for message in messages -%}
<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""

# Qwen2.5 and Hermes: tools in the system turn, calls as JSON in an element, results in a user turn.
HERMES = """{%- set ns = namespace(system='You are helpful.') %}
{%- if messages[0].role == 'system' %}{% set ns.system = messages[0].content %}{% endif %}
{{- '<|im_start|>system\\n' + ns.system }}
{%- if tools %}
{{- '\\n\\n# Tools\\n<tools>' }}
{%- for tool in tools %}{{- '\\n' }}{{- tool | tojson }}{% endfor %}
{{- '\\n</tools>\\nAnswer a call within <tool_call></tool_call>.' }}
{%- endif %}
{{- '<|im_end|>\\n' }}
{%- for message in messages %}
{%- if message.role == 'tool' %}
{%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user' }}{% endif %}
{{- '\\n<tool_response>\\n' + message.content + '\\n</tool_response>' }}
{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\\n' }}{% endif %}
{%- elif message.role != 'system' or not loop.first %}
{{- '<|im_start|>' + message.role + ('\\n' + message.content if message.content else '') }}
{%- for call in message.tool_calls or [] %}
{%- if call.function is defined %}{% set call = call.function %}{% endif %}
{{- '\\n<tool_call>\\n{"name": "' + call.name + '", "arguments": ' }}
{{- call.arguments | tojson }}{{- '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{% endif %}"""

# Qwen3: the same, with thoughts that earlier turns lose, and an empty block where they are off.
QWEN3 = (
    HERMES.replace(
        "{{- '<|im_start|>' + message.role +",
        """{%- set content = message.content %}
{%- if message.role == 'assistant' and '</think>' in content %}
{%- set content = content.split('</think>')[-1].lstrip('\\n') %}
{%- endif %}
{%- if message.reasoning_content is string and loop.last %}
{{- '<think>\\n' + message.reasoning_content.strip('\\n') + '\\n</think>\\n\\n' }}
{%- endif %}
{{- '<|im_start|>' + message.role +""",
    )
    + """
{%- if add_generation_prompt and enable_thinking is defined and enable_thinking is false %}
{{- '<think>\\n\\n</think>\\n\\n' }}{% endif %}"""
)

# Reasoning models whose template writes the opening marker.
OPEN_THINK = CHATML.replace("assistant\n{% endif %}", "assistant\n<think>\n{% endif %}")

# Llama 3.1 and 3.2: tools in the first user turn, one call as the whole turn, results as `ipython`.
LLAMA3 = """{{- bos_token }}
{%- if tools is not defined %}{% set tools = none %}{% endif %}
{%- set date = date_string if date_string is defined else '26 Jul 2024' %}
{%- if messages[0]['role'] == 'system' %}
{%- set system = messages[0]['content'] | trim %}{% set messages = messages[1:] %}
{%- else %}{% set system = '' %}{% endif %}
{{- '<|start_header_id|>system<|end_header_id|>\\n\\n' }}
{%- if tools is not none %}{{- 'Environment: ipython\\n' }}{% endif %}
{{- 'Today: ' + date + '\\n\\n' + system + '<|eot_id|>' }}
{%- if tools is not none and messages | length != 0 %}
{%- set first = messages[0]['content'] | trim %}{% set messages = messages[1:] %}
{{- '<|start_header_id|>user<|end_header_id|>\\n\\nCall as {"name": name, "parameters": {}}.\\n' }}
{%- for tool in tools %}{{- tool | tojson(indent=4) }}{{- '\\n\\n' }}{% endfor %}
{{- first + '<|eot_id|>' }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'ipython' or message.role == 'tool' %}
{{- '<|start_header_id|>ipython<|end_header_id|>\\n\\n' }}
{%- if message.content is mapping or (message.content is iterable and message.content is not string)
 %}{{- message.content | tojson }}{% else %}{{- message.content }}{% endif %}
{{- '<|eot_id|>' }}
{%- elif 'tool_calls' in message %}
{%- if not message.tool_calls | length == 1 %}
{{- raise_exception('Only one call at once') }}
{%- endif %}
{%- set call = message.tool_calls[0].function %}
{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n{"name": "' + call.name + '", ' }}
{{- '"parameters": ' }}{{- call.arguments | tojson }}{{- '}' }}{{- '<|eot_id|>' }}
{%- else %}
{{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' }}
{{- message['content'] | trim + '<|eot_id|>' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"""

# Mistral 7B v0.3 and Nemo: tools before the last user turn, calls as an array, ids of nine letters.
MISTRAL = """{%- if messages[0].role == 'system' %}
{%- set system = messages[0].content %}{% set loop_messages = messages[1:] %}
{%- else %}{% set loop_messages = messages %}{% endif %}
{%- set users = loop_messages | selectattr('role', 'equalto', 'user') | list %}
{{- bos_token }}
{%- for message in loop_messages %}
{%- if message.role == 'user' %}
{%- if tools is not none and message == users[-1] %}
{{- '[AVAILABLE_TOOLS]' + tools | map(attribute='function') | list | tojson }}
{{- '[/AVAILABLE_TOOLS]' }}
{%- endif %}
{{- '[INST]' + (system + '\\n\\n' if loop.last and system is defined else '') }}
{{- message.content + '[/INST]' }}
{%- elif message.tool_calls is defined and message.tool_calls is not none %}
{{- '[TOOL_CALLS][' }}
{%- for call in message.tool_calls %}
{%- if call.id is not defined or call.id | length != 9 %}
{{- raise_exception('Ids of calls have nine letters') }}
{%- endif %}
{%- set text = call.function | tojson %}{{- text[:-1] + ', "id": "' + call.id + '"}' }}
{%- if not loop.last %}{{- ', ' }}{% endif %}
{%- endfor %}
{{- ']' + eos_token }}
{%- elif message.role == 'assistant' %}{{- message.content + eos_token }}
{%- elif message.role == 'tool' %}
{{- '[TOOL_RESULTS]{"content": ' + message.content | string }}
{{- ', "call_id": "' + message.tool_call_id + '"}[/TOOL_RESULTS]' }}
{%- endif %}
{%- endfor %}"""

# Mistral Small 3.2 and later: a name before each call's arguments.
MISTRAL_NAMED = (
    """{{- bos_token }}{%- if tools %}{{- '[AVAILABLE_TOOLS]' + tools | tojson + """
    """'[/AVAILABLE_TOOLS]' }}{% endif %}
{%- for message in messages %}
{%- if message.role == 'user' %}{{- '[INST]' + message.content + '[/INST]' }}
{%- elif message.role == 'system' %}
{{- '[SYSTEM_PROMPT]' + message.content + '[/SYSTEM_PROMPT]' }}
{%- elif message.role == 'tool' %}{{- '[TOOL_RESULTS]' + message.content + '[/TOOL_RESULTS]' }}
{%- else %}{{- message.content }}
{%- for call in message.tool_calls or [] %}
{{- '[TOOL_CALLS]' + call.function.name + '[ARGS]' + call.function.arguments | tojson }}
{%- endfor %}{{- eos_token }}
{%- endif %}
{%- endfor %}"""
)

# Granite 3: an array behind a marker.
GRANITE = """{%- if tools %}
{{- '<|start_of_role|>available_tools<|end_of_role|>' + tools | tojson(indent=4) }}
{{- '<|end_of_text|>\\n' }}
{%- endif %}
{%- for message in messages %}
{{- '<|start_of_role|>' + message.role + '<|end_of_role|>' }}
{%- if message.tool_calls %}
{{- '<|tool_call|>' + message.tool_calls | map(attribute='function') | list | tojson }}
{%- else %}{{- message.content }}{% endif %}
{{- '<|end_of_text|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start_of_role|>assistant<|end_of_role|>' }}{% endif %}"""

# gpt-oss: channels; tools as TypeScript in the developer's turn; macros, dates, efforts.
HARMONY = """{%- macro type_of(spec) -%}
{%- if spec.enum %}{{- spec.enum | map('tojson') | join(' | ') }}
{%- elif spec.type == 'array' %}{{- type_of(spec['items']) }}[]
{%- elif spec.type == 'integer' %}number{%- else %}{{- spec.type or 'any' }}{% endif %}
{%- endmacro -%}
{%- if reasoning_effort is not defined %}{% set reasoning_effort = 'medium' %}{% endif %}
{{- '<|start|>system<|message|>Current date: ' + strftime_now('%Y-%m') }}
{{- '\\n\\nReasoning: ' + reasoning_effort + '<|end|>' }}
{%- if messages[0].role in ['system', 'developer'] %}
{%- set instructions = messages[0].content %}{% set messages = messages[1:] %}
{%- endif %}
{%- if instructions or tools %}
{{- '<|start|>developer<|message|>' }}
{%- if instructions %}{{- '# Instructions\\n\\n' + instructions }}{% endif %}
{%- if tools %}
{{- '# Tools\\n\\nnamespace functions {\\n' }}
{%- for tool in tools %}{% set tool = tool.function %}
{{- '// ' + (tool.description or '') + '\\ntype ' + tool.name + ' = (_: {' }}
{%- for name, spec in (tool.parameters.properties or {}).items() %}
{{- name + ('' if name in (tool.parameters.required or []) else '?') + ': ' }}
{{- type_of(spec) }}{{- ',' }}
{%- endfor %}
{{- '}) => any;\\n' }}
{%- endfor %}
{{- '}' }}
{%- endif %}
{{- '<|end|>' }}
{%- endif %}
{%- set last = namespace(call=none) %}
{%- for message in messages %}
{%- if message.role == 'assistant' %}
{%- if 'tool_calls' in message %}
{%- set call = message.tool_calls[0].function %}{% set last.call = call.name %}
{{- '<|start|>assistant to=functions.' + call.name }}
{{- '<|channel|>commentary json<|message|>' + call.arguments | tojson + '<|call|>' }}
{%- else %}
{{- '<|start|>assistant<|channel|>final<|message|>' + message.content + '<|end|>' }}
{%- endif %}
{%- elif message.role == 'tool' %}
{%- if last.call is none %}{{- raise_exception('A result without a call') }}{% endif %}
{{- '<|start|>functions.' + last.call + ' to=assistant<|channel|>commentary<|message|>' }}
{{- message.content | tojson + '<|end|>' }}
{%- else %}
{{- '<|start|>' + message.role + '<|message|>' + message.content + '<|end|>' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start|>assistant' }}{% endif %}"""

UNKNOWN_TOOLS = "{% if tools %}{{ tools | tojson }}{% endif %}" + CHATML

TEMPLATES = {
    "chatml": CHATML,
    "hermes": HERMES,
    "qwen3": QWEN3,
    "open think": OPEN_THINK,
    "llama3": LLAMA3,
    "mistral": MISTRAL,
    "mistral named": MISTRAL_NAMED,
    "granite": GRANITE,
    "harmony": HARMONY,
    "unknown tools": UNKNOWN_TOOLS,
    "tools left out": CHATML + "{# <|python_tag|> #}",
}
# What each has as special tokens besides `<|im_start|>` and its like.
SPECIAL_TOKENS = {
    "llama3": ("<|python_tag|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
    "mistral": ("[TOOL_CALLS]", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
    "mistral named": ("[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]", "[INST]"),
    "granite": ("<|tool_call|>", "<|start_of_role|>", "<|end_of_role|>"),
    "harmony": (
        "<|start|>",
        "<|channel|>",
        "<|message|>",
        "<|end|>",
        "<|call|>",
        "<|return|>",
        "<|constrain|>",
    ),
}
