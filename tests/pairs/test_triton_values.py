"""Pair values on a GPU beside those of double precision.

There is nothing to test without an NVIDIA card and Triton.
"""

import numpy as np
import pytest

from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.similarity.kernel import LEAST_EXPONENT, MOST_EXPONENT, clip_exponents

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
if not torch.cuda.is_available():
    pytest.skip("there is no NVIDIA card here", allow_module_level=True)

from latentsimplex.pairs import _triton_values  # noqa: E402


@pytest.mark.parametrize("name", DIVERGENCES)
def test_pair_values(name):
    r = np.random.default_rng(0).exponential(2.0, (3, 2500)).astype(np.float32)
    r[0, :40], r[1, :40], r[2] = 0.0, 1e6, r[2] * 1e-3
    on_card = torch.as_tensor(r, device="cuda")
    F = torch.empty_like(on_card)
    constants = _triton_values.write_pair_values(on_card, LEAST_EXPONENT, MOST_EXPONENT, name == "forward", F)
    clipped = clip_exponents(r.astype(np.float64))
    np.testing.assert_allclose(F.cpu().numpy(), DIVERGENCES[name].f(clipped), rtol=1e-4, atol=1e-4)
    expected = DIVERGENCES[name].const(clipped).sum(axis=1)
    np.testing.assert_allclose(constants.cpu().numpy(), expected, rtol=1e-5)
