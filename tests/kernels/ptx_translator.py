"""NVRTC's PTX as C++ for the fibers: the code that a card gets, inline instructions and all.

An instruction becomes a call of the function of its name in cuda_shim/ptx_operations.h, a register
a variable, a branch a goto; what that header lacks does not compile. Only operands, memory and what
whole warps and blocks do are treated here. PTX ISA:
docs.nvidia.com/cuda/parallel-thread-execution.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TYPES = {
    **dict.fromkeys(("b8", "u8", "s8"), "uint8_t"),
    **dict.fromkeys(("b16", "u16", "s16", "f16"), "uint16_t"),
    **dict.fromkeys(("b32", "u32", "s32"), "uint32_t"),
    **dict.fromkeys(("b64", "u64", "s64"), "uint64_t"),
    "f32": "float",
    "f64": "double",
    "pred": "bool",
}
_SPECIAL = {"tid": "threadIdx", "ctaid": "blockIdx", "ntid": "blockDim", "nctaid": "gridDim"}
_KERNEL = re.compile(r"\.visible \.entry (\w+)\(\s*\.param[^)]*?(\w+)\[\d+\]\s*\)([^{]*)\{")
_SHARED = re.compile(r"\.shared \.align (\d+) \.[bu](\d+) ([\w$]+)(?:\[(\d+)\])?;")
_STATEMENT = re.compile(r"\s*(\$?\w+:|[{}]|[^;{}]*?(?:\{[^}]*\}[^;{}]*)*;)")
_SHUFFLES = {"bfly": "kXor", "idx": "kIndex", "up": "kUp", "down": "kDown"}
_ATOMS = {"add": "atomicAdd", "max": "atomicMax"}
_HALVES = {"b32": ("uint16_t", 16), "b64": ("uint32_t", 32)}


def translate(ptx: str) -> str:
    """C++ with `run_<kernel>` for every kernel, each of one structure as its parameter."""
    text = re.sub(r"//[^\n]*|\.pragma[^;]*;", "", ptx.rstrip("\0"))
    dynamic = re.findall(r"^\.extern \.shared[^;]*?(\w+)\[\];", text, re.MULTILINE)
    parts = ['#include "ptx_operations.h"\n']
    for match in _KERNEL.finditer(text):
        body = _body(text, match.end())
        parts.append(_Kernel(match[1], match[2], dynamic).translate(body))
    return "\n".join(parts)


def _body(text: str, start: int) -> str:
    depth, end = 1, start
    while depth:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return text[start : end - 1]


@dataclass
class _Kernel:
    """One kernel: where its symbols stand, and what it becomes."""

    name: str
    parameter: str
    dynamic: list[str]
    shared: dict[str, int] = field(default_factory=dict)

    def translate(self, body: str) -> str:
        """The function, and how it is launched with its static memory before the dynamic one."""
        static_bytes = self._place_shared(body)
        body = re.sub(r"\.shared \.align[^;]*;", "", body)
        lines = [self._statement(statement.strip()) for statement in _STATEMENT.findall(body)]
        code = "\n".join(lines)
        return (
            f"static void kernel_{self.name}(void** parameters) {{\n{code}\n}}\n"
            f'extern "C" int run_{self.name}(const unsigned* given, void** parameters) {{\n'
            "    unsigned launch[10];\n    memcpy(launch, given, sizeof launch);\n"
            f"    launch[6] += {static_bytes};\n"
            f"    return cuda_host_launch(kernel_{self.name}, launch, parameters);\n}}\n"
        )

    def _place_shared(self, body: str) -> int:
        end = 0
        for alignment, bits, name, count in _SHARED.findall(body):
            self.shared[name] = -(-end // int(alignment)) * int(alignment)
            end = self.shared[name] + int(bits) // 8 * int(count or 1)
        static_bytes = -(-end // 16) * 16
        self.shared |= dict.fromkeys(self.dynamic, static_bytes)
        return static_bytes

    def _statement(self, text: str) -> str:
        if text in "{}":
            return text
        if text.endswith(":"):
            return f"{_identifier(text[:-1])}: ;"
        text = text.rstrip(";").strip()
        if text.startswith(".reg"):
            return _declare(text)
        guard = re.match(r"@(!?)%(\w+)\s+(.*)", text, re.DOTALL)
        if guard:
            return f"if ({guard[1]}{guard[2]}) {{ {self._instruction(guard[3])} }}"
        return self._instruction(text)

    def _instruction(self, text: str) -> str:
        operation, *more = text.split(None, 1)
        operands = _split(more[0]) if more else []
        return self._special(operation, operands) or self._call(operation, operands)

    def _call(self, operation: str, operands: list[str]) -> str:
        target, *sources = operands
        values = ", ".join(self._value(source) for source in sources)
        return f"{self._value(target)} = ptx::{operation.replace('.', '_')}({values});"

    def _special(self, operation: str, operands: list[str]) -> str:
        """What is no function of values; '' for the rest."""
        name, *words = operation.split(".")
        where = f'"{self.name}: {operation}"'
        match name:
            case "ret" | "exit":
                return "return;"
            case "bra":
                return f"goto {_identifier(operands[0])};"
            case "ld":
                return self._load(words, operands)
            case "st":
                return self._store(words, operands)
            case "mov":
                return self._move(words[-1], operands)
            case "selp":
                kind, values = _TYPES[words[-1]], ", ".join(map(self._value, operands[1:]))
                return f"{self._value(operands[0])} = ptx::select<{kind}>({values});"
            case "bar" if words[0] == "warp":
                return f"cuda_host::warp_barrier({where}, {self._value(operands[0])});"
            case "bar" | "barrier":
                return f"cuda_host::block_barrier({where});"
            case "membar" | "fence":
                return ";"
            case "shfl":
                return self._shuffle(words[1], where, operands)
            case "atom":
                return self._atom(words, operands)
            case "vote":
                ballot = f"cuda_host::ballot({where}, {self._value(operands[2])}, "
                ballot += f"{self._value(operands[1])})"
                is_any = "any" in words
                return f"{self._value(operands[0])} = {ballot}{' != 0' if is_any else ''};"
            case "mma":
                return self._multiply(words[2], where, operands)
            case "ldmatrix":
                return self._load_matrices(where, "trans" in words, operands)
            case "cp":
                return self._copy(words[1], operands)
        return ""

    def _load(self, words: list[str], operands: list[str]) -> str:
        kind, targets = _TYPES[words[-1]], _list(operands[0])
        if words[-1].startswith("s"):
            kind = kind.removeprefix("u")  # a wider register gets the sign, too
        address = self._address(operands[1], words[0])
        loads = (
            f"{self._value(target)} = ptx::load<{kind}>(address + {index} * sizeof({kind}));"
            for index, target in enumerate(targets)
        )
        return f"{{ const uint64_t address = {address}; {' '.join(loads)} }}"

    def _store(self, words: list[str], operands: list[str]) -> str:
        kind, sources = _TYPES[words[-1]], _list(operands[1])
        address = self._address(operands[0], words[0])
        stores = (
            f"ptx::store<{kind}>(address + {index} * sizeof({kind}), {self._value(source)});"
            for index, source in enumerate(sources)
        )
        return f"{{ const uint64_t address = {address}; {' '.join(stores)} }}"

    def _move(self, kind: str, operands: list[str]) -> str:
        target, source = operands
        if target.startswith("{"):
            half, bits = _HALVES[kind]
            parts = (
                f"{self._value(part)} = static_cast<{half}>(whole >> {bits * index});"
                for index, part in enumerate(_list(target))
            )
            return f"{{ const {_TYPES[kind]} whole = {self._value(source)}; {' '.join(parts)} }}"
        if source.startswith("{"):
            _, bits = _HALVES[kind]
            parts = (
                f"static_cast<{_TYPES[kind]}>({self._value(part)}) << {bits * index}"
                for index, part in enumerate(_list(source))
            )
            return f"{self._value(target)} = {' | '.join(parts)};"
        value = self._value(source)
        is_register = source.startswith("%") and "." not in source
        if is_register and kind in _HALVES:
            value = f"ptx::convert<decltype({self._value(target)} + 0)>({value})"
        return f"{self._value(target)} = {value};"

    def _shuffle(self, mode: str, where: str, operands: list[str]) -> str:
        target = self._value(operands[0].split("|")[0])
        value, operand, _, mask = map(self._value, operands[1:])
        arguments = (
            f"{where}, {mask}, {value}, cuda_host::Shuffle::{_SHUFFLES[mode]}, {operand}, 32"
        )
        return f"{target} = static_cast<uint32_t>(cuda_host::shuffle({arguments}));"

    def _atom(self, words: list[str], operands: list[str]) -> str:
        address, kind = self._address(operands[1], words[0]), _TYPES[words[-1]]
        call = f"{_ATOMS[words[1]]}(reinterpret_cast<{kind}*>({address}), "
        return f"{self._value(operands[0])} = {call}{self._value(operands[2])});"

    def _multiply(self, shape: str, where: str, operands: list[str]) -> str:
        d, a, b, c = ([self._value(part) for part in _list(operand)] for operand in operands)
        stored = " ".join(f"{target} = c[{index}];" for index, target in enumerate(d))
        # Eight columns of A fill half of what sixteen do.
        num_a, num_b = {"m16n8k16": (4, 2), "m16n8k8": (2, 1)}[shape]
        assert (len(a), len(b)) == (num_a, num_b)
        return (
            f"{{ float c[4] = {{{', '.join(c)}}}; const unsigned a[4] = {{{', '.join(a)}}}, "
            f"b[2] = {{{', '.join(b)}}}; cuda_host::mma_m16n8k16({where}, c, a, b); {stored} }}"
        )

    def _load_matrices(self, where: str, is_transposed: bool, operands: list[str]) -> str:
        targets = enumerate(_list(operands[0]))
        stored = " ".join(f"{self._value(target)} = d[{index}];" for index, target in targets)
        row = f"reinterpret_cast<const void*>({self._address(operands[1], 'shared')})"
        call = f"cuda_host::load_matrices({where}, d, {row}, {str(is_transposed).lower()});"
        return f"{{ unsigned d[4]; {call} {stored} }}"

    def _copy(self, kind: str, operands: list[str]) -> str:
        """cp.async; its last operand says how many bytes are read, the rest becomes 0."""
        if kind == "commit_group":
            return "cuda_host::commit_copies();"
        if kind == "wait_group":
            return f"cuda_host::wait_for_copies({operands[0]});"
        shared = f"reinterpret_cast<void*>({self._address(operands[0], 'shared')})"
        source = f"reinterpret_cast<const void*>({self._address(operands[1], 'global')})"
        size = self._value(operands[3] if len(operands) > 3 else operands[2])
        return f"cuda_host::copy_async({shared}, {source}, {size}, 16 - {size});"

    def _address(self, operand: str, space: str) -> str:
        base, _, offset = operand.strip("[]").replace(" ", "").partition("+")
        value = f"{self._value(base)} + ({offset or 0})"
        return f"ptx::shared_address({value})" if space == "shared" else value

    def _value(self, operand: str) -> str:
        operand = operand.strip()
        special = re.fullmatch(r"%(tid|ctaid|ntid|nctaid)\.([xyz])", operand)
        if special:
            return f"{_SPECIAL[special[1]]}.{special[2]}"
        if operand == self.parameter:
            return "reinterpret_cast<uint64_t>(parameters[0])"
        if operand in self.shared:
            return f"{self.shared[operand]}u"
        if re.fullmatch(r"0[fF][0-9A-Fa-f]{8}", operand):
            return f"ptx::f32_bits(0x{operand[2:]}u)"
        if re.fullmatch(r"0[dD][0-9A-Fa-f]{16}", operand):
            return f"ptx::f64_bits(0x{operand[2:]}ull)"
        if re.fullmatch(r"-?\d+|0x[0-9A-Fa-f]+", operand):
            return f"{operand}ll"
        return _identifier(operand)


def _declare(text: str) -> str:
    kind, names = re.match(r"\.reg\s+\.(\w+)\s+(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    many = re.fullmatch(r"%(\w+)<(\d+)>", names.strip())
    variables = (
        [f"{many[1]}{index}" for index in range(int(many[2]))]
        if many
        else [_identifier(name) for name in names.split(",")]
    )
    return f"{_TYPES[kind]} {', '.join(variables)};"


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name.strip().lstrip("%"))


def _list(operand: str) -> list[str]:
    return [part.strip() for part in operand.strip().strip("{}").split(",")]


def _split(text: str) -> list[str]:
    """At commas outside of braces."""
    return [part.strip() for part in re.findall(r"(?:[^,{]|\{[^}]*\})+", text)]
