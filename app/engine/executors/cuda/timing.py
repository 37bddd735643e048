"""How fast a device's memory is, and how near to it each kernel of a step comes."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from app.engine.executors.cuda.launcher import Buffer, Launch, Launcher, fill
from app.engine.executors.cuda.matrices import DeviceMatrix
from kernels.cuda.copy import COPY_ARGS, COPY_THREADS, ELEMENT_BYTES, SOURCE, UNIT_BYTES, num_blocks

_NUM_RUNS = 5
_LEAST_LAUNCHES = 20  # of a timing: one alone would be timed with the gap before it


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """Bytes a second: of a copy those read and written, of a read those read."""

    copy: float
    read: float


@dataclass(frozen=True, slots=True)
class KernelTime:
    """Launches of one kind in a step: seconds and bytes of weights, of all of them together."""

    name: str
    num_launches: int
    seconds: float
    num_bytes: int

    def fraction(self, bandwidth: float) -> float:
        """Of a bandwidth, reading weights; 0 for kernels that read none."""
        return self.num_bytes / self.seconds / bandwidth if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class DecodeTimes:
    """What a step of decoding is made of, beside what the memory could give."""

    bandwidth: Bandwidth
    kernels: list[KernelTime]

    @property
    def step_s(self) -> float:
        """Of all kernels one after the other."""
        return sum(kernel.seconds for kernel in self.kernels)


def measure_bandwidth(launcher: Launcher) -> Bandwidth:
    """From memory that is borrowed for it."""
    wanted = min(launcher.yardstick_bytes, launcher.memory().free_bytes // 4)
    size = max(1, wanted // UNIT_BYTES) * UNIT_BYTES
    with launcher.borrow(2 * size) as buffers:
        source = Buffer(buffers.address, size)
        target = Buffer(buffers.address + size, size)
        copied, read = (
            time_launches(launcher, [_stream(launcher, kernel, source, target)] * count)
            for kernel, count in (("copy_words", 4), ("read_words", 4))
        )
    return Bandwidth(2 * size / copied, size / read)


def time_kernels(
    launcher: Launcher, launches: Sequence[Launch], matrices: Sequence[DeviceMatrix]
) -> list[KernelTime]:
    """The launches of a step by kind, each kind replayed alone; the slowest first.

    Those of one kind read the weights of all layers in turn, so that no cache holds them.
    """
    by_address = {matrix.fields["codes"].address: matrix for matrix in matrices}
    groups: dict[str, list[Launch]] = {}
    num_bytes: dict[str, int] = {}
    for launch in launches:
        matrix = by_address.get(_codes_of(launch))
        name = _name_of(launch, matrix)
        groups.setdefault(name, []).append(launch)
        num_bytes[name] = num_bytes.get(name, 0) + (matrix.num_bytes if matrix else 0)
    # Kernels that carry something from step to step come last.
    order = sorted(groups, key=lambda name: groups[name][0].source.file == "sampling.cu")
    times = [
        KernelTime(
            name,
            len(groups[name]),
            len(groups[name]) * time_launches(launcher, groups[name]),
            num_bytes[name],
        )
        for name in order
    ]
    return sorted(times, key=lambda time: -time.seconds)


def iter_matrices(weights: Any) -> Iterator[DeviceMatrix]:
    """Every matrix in a structure of dataclasses, lists and dictionaries, each once."""
    seen: set[int] = set()
    stack = [weights]
    while stack:
        item = stack.pop()
        if isinstance(item, DeviceMatrix):
            address = item.fields["codes"].address
            if address not in seen:
                seen.add(address)
                yield item
        elif is_dataclass(item):
            stack += [getattr(item, field.name) for field in fields(item)]
        elif isinstance(item, list | tuple):
            stack += item
        elif isinstance(item, dict):
            stack += item.values()


def time_launches(launcher: Launcher, launches: Sequence[Launch]) -> float:
    """Median seconds of one launch, of several replays of all."""
    graph = launcher.capture(launches)
    count = -(-_LEAST_LAUNCHES // len(launches))
    launcher.time_replays_s(graph, 1)
    runs = [launcher.time_replays_s(graph, count) for _ in range(_NUM_RUNS)]
    return statistics.median(runs) / count / len(launches)


def _stream(launcher: Launcher, kernel: str, source: Buffer, target: Buffer) -> Launch:
    argument = fill(
        COPY_ARGS, **{"from": source, "to": target, "count": source.num_bytes // ELEMENT_BYTES}
    )
    grid = (num_blocks(launcher.num_multiprocessors),)
    return Launch(SOURCE, kernel, grid, (COPY_THREADS,), argument)


def _codes_of(launch: Launch) -> int | None:
    """The address of the weights that a product reads; its structure may stand in another."""
    argument = launch.argument
    for outer in ("matrix", "product"):
        if outer in (argument.dtype.names or ()):
            argument = argument[outer]
    return int(argument["codes"]) if "codes" in (argument.dtype.names or ()) else None


def _name_of(launch: Launch, matrix: DeviceMatrix | None) -> str:
    if matrix is None or launch.source.file == "rows.cu":
        return launch.kernel
    rows, columns = matrix.shape
    return f"{launch.kernel} w{matrix.variant.bits} {rows} x {columns}"
