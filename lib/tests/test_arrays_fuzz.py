"""attnsep.arrays meets drawn arguments: it is right about them, or refuses them by name."""

import numpy as np

from attnsep import arrays
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import XP, matrices, some


@fuzz(arrays.namespace, backend=some("numpy", "array_api_strict", "auto", None))
def test_a_namespace_adds(result, backend):
    assert float(result.sum(result.asarray([1.0, 2.0]))) == 3


@fuzz(arrays.backend_name, xp=XP.filter(lambda xp: xp is not None))
def test_a_backend_has_a_known_name(result, xp):
    assert result in arrays.BACKENDS


@fuzz(arrays.common_namespace, matrices(("A", "nd"), ("x", "d")))
def test_what_shares_a_namespace_multiplies(result, A, x):
    if A.ndim == 2 and A.shape[1:] == x.shape and A.dtype == x.dtype:
        with np.errstate(all="ignore"):
            assert result.matmul(A, x) is not None


@fuzz(arrays.given_namespace, xp=XP)
def test_a_given_namespace_has_doubles(result, xp):
    assert result.float64


@fuzz(arrays.require_real_dtype, xp=XP.filter(lambda xp: xp is not None), dtype=some(None), kept={"xp"})
def test_a_real_dtype_is_floating(result, xp, dtype):
    assert xp.isdtype(result, "real floating")


@fuzz(arrays.to_numpy, matrices(("array", "nd")), passes_nan=True)
def test_every_array_becomes_numpys(result, array):
    assert isinstance(result, np.ndarray)
