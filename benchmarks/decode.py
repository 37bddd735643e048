"""Tokens per second of the starter model on each executor, median of three fresh processes."""

from __future__ import annotations

from benchmarks.measure import Figures, command_line, medians, own_home, print_json, run_json

_NUM_RUNS = 3
# The reference executor is for truth, not for speed: a short run says enough.
_LENGTHS = {"cpu": ("512", "128"), "reference": ("64", "16")}
_FIGURES = ("load_s", "prefill_tok_s", "decode_tok_s", "peak_memory_bytes", "bandwidth_fraction")


def measure(device: str) -> Figures:
    """The figures of `deepinfer bench` on one device."""
    with own_home() as home:
        model = str(home / "starter")
        run_json("-m", "app", "convert", "starter", "-o", model, "--json")
        return medians([_bench(model, device) for _ in range(_NUM_RUNS)])


def _bench(model: str, device: str) -> Figures:
    prompt, gen = _LENGTHS[device]
    options = ("--device", device, "--prompt", prompt, "--gen", gen, "--json")
    report = run_json("-m", "app", "bench", model, *options)
    return {name: float(report[name]) for name in _FIGURES}


if __name__ == "__main__":
    command_line(__doc__).parse_args()
    print_json({device: measure(device) for device in _LENGTHS})
