"""Popular models by their config.json: what each computes, or why it is refused."""

from __future__ import annotations

from operator import attrgetter

import pytest

from app.core.errors import UnsupportedError
from app.spec.registry import create_spec
from app.spec.weights import num_parameters
from tests.spec.popular_dense import DENSE
from tests.spec.popular_gemmas import GEMMAS, GRANITES, PHIS
from tests.spec.popular_hybrid import HYBRID
from tests.spec.popular_latent import LATENT
from tests.spec.popular_llamas import LLAMAS, QWENS
from tests.spec.popular_models import Supported
from tests.spec.popular_refused import REFUSED_CLASSES, REFUSED_VALUES
from tests.spec.popular_sparse import SPARSE
from tests.spec.popular_wrapped import WRAPPED

SUPPORTED = [
    *LLAMAS,
    *QWENS,
    *DENSE,
    *PHIS,
    *GEMMAS,
    *GRANITES,
    *SPARSE,
    *LATENT,
    *HYBRID,
    *WRAPPED,
]


@pytest.mark.parametrize("model", SUPPORTED, ids=str)
def test_what_a_popular_model_computes(model: Supported) -> None:
    spec = create_spec(model.config)
    found = {name: attrgetter(name)(spec) for name in model.facts}
    assert found == model.facts
    assert num_parameters(spec) / 1e9 == pytest.approx(model.billions, abs=0.01)


@pytest.mark.parametrize("name", REFUSED_CLASSES)
def test_which_popular_models_are_refused_by_their_class(name: str) -> None:
    class_name = REFUSED_CLASSES[name]
    with pytest.raises(UnsupportedError, match=f"{class_name} is not supported"):
        create_spec({"architectures": [class_name]})


@pytest.mark.parametrize("name", REFUSED_VALUES)
def test_what_is_refused_of_a_class_that_is_known(name: str) -> None:
    config, reason = REFUSED_VALUES[name]
    with pytest.raises(UnsupportedError, match=reason):
        create_spec(config)
