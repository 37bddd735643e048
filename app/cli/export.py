"""`deepinfer export`: a native checkpoint becomes one for other engines."""

from __future__ import annotations

import argparse
from pathlib import Path

from app.cli.conversion import cancelled_by_interrupt
from app.cli.options import Subparsers, add_command
from app.cli.output import print_json, print_note, print_pairs
from app.cli.progress import ProgressBar
from app.converter.export import ExportReport, export
from app.converter.export_plan import ExportFormat
from app.core.errors import InvalidSourceError
from app.core.paths import library_dir
from app.core.units import format_bytes
from app.hub.library import resolve


def add_parsers(subparsers: Subparsers) -> None:
    """Adds `export`."""
    parser = add_command(subparsers, "export", run, "Write a model for vLLM and other engines.")
    parser.add_argument("model", metavar="MODEL", help="a native folder or a name in the library")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    parser.add_argument(
        "--format", choices=[format.value for format in ExportFormat], required=True
    )


def run(args: argparse.Namespace) -> None:
    """Exports and reports; raises AppError."""
    model_dir = resolve(args.model, library_dir())
    if model_dir is None:
        raise InvalidSourceError(f"{args.model} is neither a native folder nor in the library.")
    with ProgressBar("exporting") as bar, cancelled_by_interrupt() as cancel:
        report = export(
            model_dir, args.output, ExportFormat(args.format), listener=bar.update, cancel=cancel
        )
    if args.json:
        print_json(_to_document(report))
    else:
        _print(report)


def _to_document(report: ExportReport) -> dict[str, object]:
    return {
        "output": str(report.output),
        "format": report.format,
        "architecture": report.architecture,
        "tensors": {"quantized": report.num_quantized, "dense": report.num_dense},
        "output_bytes": report.output_bytes,
        "seconds": report.seconds,
        "notes": list(report.notes),
    }


def _print(report: ExportReport) -> None:
    print_pairs(
        [
            ("output", report.output),
            ("format", report.format),
            ("architecture", report.architecture),
            ("linears", f"{report.num_quantized} quantized, {report.num_dense} dense"),
            ("size", format_bytes(report.output_bytes)),
            ("time", f"{report.seconds:.1f} s"),
        ]
    )
    for note in report.notes:
        print_note(note)
