import sys
import types

import array_api_strict
import numpy as np
import pytest

from attnsep import arrays


@pytest.fixture(autouse=True)
def _fresh_choice():
    """`namespace` remembers what it found; each test here starts without that memory."""
    arrays._load.cache_clear()
    yield
    arrays._load.cache_clear()


def without_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setitem(sys.modules, "array_api_compat.cupy", None)


def test_auto_falls_back_to_numpy(monkeypatch):
    without_cupy(monkeypatch)
    assert arrays.backend_name(arrays.namespace("auto")) == "numpy"


def test_auto_takes_cupy_where_a_kernel_runs(monkeypatch):
    fake = types.ModuleType("array_api_compat.cupy")
    fake.asarray, fake.sum = np.asarray, np.sum
    monkeypatch.setitem(sys.modules, "array_api_compat.cupy", fake)
    monkeypatch.setattr("array_api_compat.cupy", fake, raising=False)
    assert arrays.backend_name(arrays.namespace("auto")) == "cupy"


def test_a_wrong_sum_is_no_gpu(monkeypatch):
    fake = types.ModuleType("array_api_compat.cupy")
    fake.asarray, fake.sum = np.asarray, lambda array: 0
    monkeypatch.setitem(sys.modules, "array_api_compat.cupy", fake)
    monkeypatch.setattr("array_api_compat.cupy", fake, raising=False)
    with pytest.raises(RuntimeError, match="wrong sum"):
        arrays.namespace("cupy")


def test_forced_cupy_says_why_it_cannot(monkeypatch):
    without_cupy(monkeypatch)
    with pytest.raises(RuntimeError, match="CuPy cannot run here"):
        arrays.namespace("cupy")


def test_environment_variable_decides(monkeypatch):
    monkeypatch.setenv("ATTNSEP_BACKEND", "array_api_strict")
    assert arrays.namespace() is array_api_strict


def test_unknown_backend_names_where_it_came_from(monkeypatch):
    with pytest.raises(ValueError, match="backend = 'torch': must be one of"):
        arrays.namespace("torch")
    monkeypatch.setenv("ATTNSEP_BACKEND", "gpu")
    with pytest.raises(ValueError, match="ATTNSEP_BACKEND = 'gpu'"):
        arrays.namespace()


def test_common_namespace_rejects_mixed_libraries():
    with pytest.raises(TypeError, match=r"A, x: arrays of different libraries \(numpy, array_api_strict\)"):
        arrays.common_namespace(A=np.ones(2), x=array_api_strict.ones(2))


def test_common_namespace_rejects_mixed_devices():
    other = array_api_strict.asarray([1.0], device=array_api_strict.Device("device1"))
    with pytest.raises(TypeError, match="A, x: arrays on different devices"):
        arrays.common_namespace(A=array_api_strict.ones(1), x=other)


@pytest.mark.parametrize("array", [np.ones(2, complex), np.ones(2, bool)])
def test_common_namespace_rejects_what_is_not_real(array):
    with pytest.raises(TypeError, match=f"A: dtype {array.dtype}, must be real"):
        arrays.common_namespace(A=array)


def test_require_shape_accepts_a_named_length_and_rejects_a_wrong_one():
    arrays.require_shape("A", np.ones((3, 2)), ("n", "d"))
    with pytest.raises(ValueError, match=r"A: shape \(3, 2\), must be \(n,\)"):
        arrays.require_shape("A", np.ones((3, 2)), ("n",))


def test_to_numpy(xp):
    result = arrays.to_numpy(xp.asarray([1.0, 2.0]))
    assert type(result) is np.ndarray
    assert result.tolist() == [1.0, 2.0]
