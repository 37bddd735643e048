"""OLMo 3: OLMo 2 with three sliding layers to one full, and yarn on the full ones alone."""

from functools import partial

from app.spec.adapter import ArchitectureAdapter, attention_bias_flag, periodic_window
from app.spec.adapters.olmo2 import POST_NORM_NAMES, read_olmo

ADAPTER = ArchitectureAdapter(
    family="olmo3",
    architectures=("Olmo3ForCausalLM",),
    model_types=("olmo3",),
    read_attention_bias=attention_bias_flag,
    read_window=partial(periodic_window, period=4),
    read_differences=read_olmo,
    weight_names=POST_NORM_NAMES,
    sliding_rope=True,
    default_rms_norm_eps=1e-5,
)
