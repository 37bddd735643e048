"""What this computer is, in words."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.core.machine_events import MachineDescribed, ModelSize
from app.core.units import format_bytes
from app.ui.formats import format_count
from app.ui.sentences import shown

# Tokens a second that nobody waits for: people read about five words a second.
_QUICK_TOK_S = 8.0
_LEAST_CONTEXT = 1024
_SEPARATOR = "  ·  "
_SETS = {"avx512": "AVX-512", "avx2": "AVX2", "neon": "NEON"}

translate = QCoreApplication.translate


def facts(report: MachineDescribed) -> list[tuple[str, str]]:
    """A name and what there is to say of it, line by line."""
    machine = report.machine
    cores = translate("Machine", "cores: {n}").format(n=machine.num_cores)
    free = translate("Machine", "{size}, {free} free")
    memory = free.format(size=_size(machine.total_bytes), free=_size(machine.available_bytes))
    disk = translate("Machine", "{size} free").format(size=_size(report.disk_free_bytes))
    own_set = _SETS.get(report.instruction_set, report.instruction_set)
    processor = _SEPARATOR.join((shown(machine.cpu_name), cores, own_set))
    return list(zip(fact_names(), (_card_text(report), processor, memory, disk), strict=True))


def fact_names() -> tuple[str, ...]:
    """Of the lines, which are known before what stands in them."""
    return (
        translate("Machine", "Graphics card"),
        translate("Machine", "Processor"),
        translate("Machine", "Memory"),
        translate("Machine", "Disk"),
    )


def advice(report: MachineDescribed) -> str:
    """Which models will run well."""
    fitting = [size for size in report.sizes if size.max_context >= _LEAST_CONTEXT]
    if not fitting:
        return translate("Machine", "There is no room for a model now: close other programs.")
    quick = [size for size in fitting if size.tok_s is None or size.tok_s >= _QUICK_TOK_S]
    largest = fitting[-1]
    if not quick:
        text = translate("Machine", "Models answer slowly here now; the smallest do best.")
        return _both(text, _describe_largest(largest))
    text = translate("Machine", "Models up to about {size} at 4 bits answer quickly here.")
    text = text.format(size=quick[-1].name)
    return text if largest is quick[-1] else _both(text, _describe_largest(largest))


def _describe_largest(size: ModelSize) -> str:
    text = translate("Machine", "{size} fits with {n} tokens of context, and takes its time.")
    return text.format(size=size.name, n=format_count(size.max_context))


def _card_text(report: MachineDescribed) -> str:
    card = report.card
    if card is None:
        return shown(report.card_problem)
    free = translate("Machine", "{size}, {free} free")
    parts = [card.name, _size(card.total_bytes)]
    if report.card_free_bytes:
        parts[1] = free.format(size=parts[1], free=_size(report.card_free_bytes))
    if report.driver:
        parts.append(translate("Machine", "driver {version}").format(version=report.driver))
    return _SEPARATOR.join(parts)


def _both(first: str, second: str) -> str:
    return translate("Machine", "{first} {second}").format(first=first, second=second)


def _size(num_bytes: int) -> str:
    """Its unit stays on its line."""
    return format_bytes(num_bytes).replace(" ", "\u00a0")
