"""`deepinfer convert`: a source becomes a native checkpoint."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from app.cli.conversion import convert_with_progress
from app.cli.models import resolve_source
from app.cli.options import Subparsers, add_command, byte_count, natural_int
from app.cli.output import print_json, print_note, print_pairs, print_table
from app.converter.grids import GROUP_SIZES, Grid
from app.converter.sources.detect import FORMATS
from app.core.conversion_events import ConversionReport, GridEvaluation
from app.core.units import format_bytes


def add_parsers(subparsers: Subparsers) -> None:
    """Adds `convert`."""
    parser = add_command(subparsers, "convert", run, "Convert a source to a native checkpoint.")
    parser.add_argument("source", metavar="SOURCE", help="a .gguf file or a checkpoint's folder")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    parser.add_argument(
        "--grid", choices=[grid.value for grid in Grid], default="auto", help="default: %(default)s"
    )
    parser.add_argument(
        "--group-size",
        type=natural_int,
        choices=GROUP_SIZES,
        default=128,
        metavar="N",
        help="weights that share a scale: %(choices)s (default: %(default)s)",
    )
    parser.add_argument(
        "--vram-budget",
        type=byte_count,
        metavar="BYTES",
        help="for --grid w3w4: 3 bits instead of 4 where they cost least, until weights and "
        "workspace fit; 3500M and 3.5G are understood (1024s)",
    )
    parser.add_argument(
        "--allow-lossy",
        action="store_true",
        help="also store linears that lose more than 2 %% even at 8 bits",
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="compare every row of what is exact with the source's own decoding, not every "
        "sixteenth block of rows",
    )
    parser.add_argument(
        "--eval",
        action="store_true",
        help="measure perplexity, and KL against the source decoded densely, on a bundled text",
    )
    parser.add_argument(
        "--compare",
        type=lambda text: text.split(","),
        default=[],
        metavar="GRIDS",
        help="as --eval, side by side with other grids: --compare w4,w3,w8",
    )
    parser.add_argument("--tokenizer", type=Path, metavar="DIR", help="take the tokenizer from it")
    parser.add_argument("--format", choices=FORMATS, default="auto", help="default: %(default)s")
    parser.add_argument("--resume", action="store_true", help="go on after a kill")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing checkpoint")


def run(args: argparse.Namespace) -> None:
    """Converts and reports; raises AppError."""
    report = convert_with_progress(
        resolve_source(args.source),
        args.output,
        grid=args.grid,
        group_size=args.group_size,
        vram_budget=args.vram_budget,
        allow_lossy=args.allow_lossy,
        verify_whole=args.verify,
        evaluate=args.eval,
        compare=args.compare,
        tokenizer_dir=args.tokenizer,
        format=args.format,
        resume=args.resume,
        overwrite=args.overwrite,
    )
    if args.json:
        print_json(_to_document(report))
    else:
        _print(report)


def _to_document(report: ConversionReport) -> dict[str, object]:
    return {
        "output": str(report.output),
        "format": report.format,
        "architecture": report.architecture,
        "lossless": report.lossless,
        "tensors": _count_tensors(report),
        "rel_err_max": report.rel_err_max,
        "source_bytes": report.source_bytes,
        "output_bytes": report.output_bytes,
        "seconds": report.seconds,
        "peak_rss_bytes": report.peak_rss_bytes,
        "notes": list(report.notes),
        "evaluations": [asdict(row) for row in report.evaluations],
    }


def _count_tensors(report: ConversionReport) -> dict[str, int]:
    return {
        "exact": report.num_exact,
        "grid": report.num_grid,
        "requant": report.num_requant,
        "dense": report.num_dense,
    }


def _print(report: ConversionReport) -> None:
    counts = [f"{count} {path}" for path, count in _count_tensors(report).items() if count]
    is_lossless = "yes: decodes bit for bit as the source" if report.lossless else "no"
    print_pairs(
        [
            ("output", report.output),
            ("architecture", report.architecture),
            ("lossless", is_lossless),
            ("tensors", ", ".join(counts)),
            ("largest error", f"{report.rel_err_max:.3g}"),
            ("size", f"{format_bytes(report.source_bytes)} -> {format_bytes(report.output_bytes)}"),
            ("time", f"{report.seconds:.1f} s"),
            ("peak memory", format_bytes(report.peak_rss_bytes)),
        ]
    )
    if report.evaluations:
        print()
        head = ("GRID", "SIZE", "LARGEST ERROR", "PERPLEXITY", "MEAN KL", "SAME FIRST TOKEN")
        print_table(head, [_to_row(row) for row in report.evaluations])
    for note in report.notes:
        print_note(note)


def _to_row(row: GridEvaluation) -> tuple[str, ...]:
    kl = "0, same bits" if row.proven else f"{row.kl_mean:.5f}"
    return (
        row.grid,
        format_bytes(row.output_bytes),
        f"{row.rel_err_max:.3g}",
        f"{row.perplexity:.4f}",
        kl,
        f"{row.top1_agreement:.1%}",
    )
