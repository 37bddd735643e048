"""A conversion and its report, as the Convert page is told of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from app.controllers.conversion_job import ConversionJob
from app.core.conversion_events import (
    ConversionPlan,
    ConversionProgressed,
    ConversionReport,
    GridEvaluation,
    PartReport,
    PlannedGroup,
    TensorReport,
)
from app.core.sentence import Sentence

JOB = ConversionJob(1, Path("/models/Tiny-1B.Q4_0.gguf"), Path("/library/Tiny-1B.Q4_0"))
PLAN = ConversionPlan(
    source=JOB.source,
    output=JOB.output,
    format="gguf",
    architecture="LlamaForCausalLM",
    name="Tiny-1B",
    grid="auto",
    num_layers=16,
    num_parameters=1_235_000_000,
    groups=(
        PlannedGroup("Q4_0", "int4 sym g32", "exact", 112, 700 << 20, 700 << 20),
        PlannedGroup("IQ3_S", "int4 sym g128", "requant", 1, 10 << 20, 12 << 20),
    ),
    source_bytes=6 << 30,
    output_bytes=5 << 30,
    notes=(Sentence("The layers that predict several tokens at once are left out."),),
    memory_bytes=7 << 30,
    memory_context=4096,
)
REPORT = ConversionReport(
    output=JOB.output,
    format="gguf",
    architecture="LlamaForCausalLM",
    lossless=False,
    num_exact=112,
    num_grid=0,
    num_requant=1,
    num_dense=33,
    rel_err_max=0.0712,
    source_bytes=6 << 30,
    output_bytes=5 << 30,
    seconds=12.6,
    peak_rss_bytes=800 << 20,
    tensors=(
        TensorReport("layers.0.q_proj", "Q4_0", "exact", "int4 sym g32", 0.0, 1 << 20),
        TensorReport("lm_head", "IQ3_S", "requant", "int4 sym g128", 0.0712, 9 << 20),
    ),
    grid="w4",
    parts=(
        PartReport("layer_00", ("exact",), 0.0, 0.0, 1 << 20),
        PartReport("lm_head", ("requant",), 0.0712, 0.0712, 9 << 20),
    ),
)
# Beyond 2^31: a Qt signal or progress bar that counts in int would wrap.
PROGRESS = ConversionProgressed(
    Sentence("layer {number}", number=7),
    8,
    18,
    3 << 30,
    6 << 30,
    30.0,
    "layers.7.mlp.up_proj",
    30.0,
)
OWN = GridEvaluation("this", 84 << 20, 0.09, 1533, 16.234, 0.0312, 2.0, 0.913, False, 15.9, 1 << 27)
W3 = replace(OWN, grid="w3", output_bytes=70 << 20, perplexity=22.5, kl_mean=0.31)
W8 = replace(OWN, grid="w8", output_bytes=140 << 20, perplexity=15.91, kl_mean=0.00042)
