import sys
import types
import warnings

import numpy as np
import pytest

from attnsep import arrays, checks


@pytest.fixture(autouse=True)
def _fresh_choice():
    """`namespace` remembers what it found; each test here starts without that memory."""
    arrays._load.cache_clear()
    yield
    arrays._load.cache_clear()


def without_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setitem(sys.modules, "array_api_compat.cupy", None)


def with_cupy(monkeypatch, **names):
    """Put a stand-in for CuPy in place: NumPy's functions under CuPy's name, `names` replacing some."""
    fake = types.ModuleType("array_api_compat.cupy")
    for name in ("asarray", "sum", "matmul"):
        setattr(fake, name, names.get(name, getattr(np, name)))
    monkeypatch.setitem(sys.modules, "array_api_compat.cupy", fake)
    monkeypatch.setattr("array_api_compat.cupy", fake, raising=False)


def failing_with(error):
    def asarray(values):
        raise error

    return asarray


def test_auto_falls_back_to_numpy_and_is_silent_where_cupy_is_not_installed(monkeypatch, capsys):
    without_cupy(monkeypatch)
    assert arrays.backend_name(arrays.namespace("auto")) == "numpy"
    assert capsys.readouterr() == ("", "")


def test_auto_says_once_why_an_installed_cupy_is_not_used(monkeypatch, capsys):
    with_cupy(monkeypatch, asarray=failing_with(OSError("libcublas.so.12: cannot open\nmore about it")))
    assert arrays.backend_name(arrays.namespace("auto")) == "numpy"
    assert arrays.backend_name(arrays.namespace("auto")) == "numpy"
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "attnsep: CuPy is installed but cannot run here (OSError: libcublas.so.12: cannot open), so NumPy computes.\n"
    )


def test_a_package_that_cupy_misses_is_named(monkeypatch, capsys):
    with_cupy(monkeypatch, asarray=failing_with(ModuleNotFoundError("No module named 'fastrlock'", name="fastrlock")))
    assert arrays.backend_name(arrays.namespace("auto")) == "numpy"
    assert "cannot run here (ModuleNotFoundError: No module named 'fastrlock')" in capsys.readouterr().err


def test_numpy_by_name_does_not_ask_cupy(monkeypatch, capsys):
    with_cupy(monkeypatch, asarray=failing_with(OSError("no driver")))
    assert arrays.backend_name(arrays.namespace("numpy")) == "numpy"
    assert capsys.readouterr() == ("", "")


def test_auto_takes_cupy_where_a_kernel_runs(monkeypatch, capsys):
    with_cupy(monkeypatch)
    assert arrays.backend_name(arrays.namespace("auto")) == "cupy"
    assert capsys.readouterr() == ("", "")


def test_a_warning_of_cupy_is_no_failure(monkeypatch):
    def asarray(values):
        warnings.warn("CUDA path could not be detected.", stacklevel=1)
        return np.asarray(values)

    with_cupy(monkeypatch, asarray=asarray)
    assert arrays.backend_name(arrays.namespace("cupy")) == "cupy"


def test_the_test_kernel_multiplies_matrices(monkeypatch):
    """CuPy multiplies two vectors without cuBLAS, so that would pass where cuBLAS is broken."""

    def matmul(x, y):
        if min(x.ndim, y.ndim) > 1:
            raise OSError("libcublas.so.12: cannot open")
        return np.matmul(x, y)

    with_cupy(monkeypatch, matmul=matmul)
    with pytest.raises(RuntimeError, match="libcublas"):
        arrays.namespace("cupy")


@pytest.mark.parametrize("name", ["sum", "matmul"])
def test_a_wrong_result_is_no_gpu(monkeypatch, name):
    with_cupy(monkeypatch, **{name: lambda *values: np.asarray(0.0)})
    with pytest.raises(RuntimeError, match="wrong sum"):
        arrays.namespace("cupy")


def test_a_cause_counts_more_than_the_frame_around_it(monkeypatch):
    framed = ImportError("\n=====\nFailed to import CuPy.\n=====\n")
    framed.__cause__ = OSError("libcuda.so.1: cannot open shared object file")
    with_cupy(monkeypatch, asarray=failing_with(framed))
    with pytest.raises(RuntimeError, match=r"cannot run here \(OSError: libcuda.so.1: cannot open"):
        arrays.namespace("cupy")


@pytest.mark.parametrize(
    ("message", "reason"),
    [("\n=====\nFailed to import CuPy.\n=====\n", "Failed to import CuPy"), ("", "no message"), ("==", "no message")],
)
def test_the_reason_is_the_first_line_with_words(message, reason):
    assert arrays._reason(ImportError(message)) == f"ImportError: {reason}"


def test_forced_cupy_says_why_it_cannot(monkeypatch):
    without_cupy(monkeypatch)
    with pytest.raises(RuntimeError, match=r"CuPy cannot run here \(it is not installed\); use auto or numpy"):
        arrays.namespace("cupy")


def test_environment_variable_decides(monkeypatch):
    array_api_strict = pytest.importorskip("array_api_strict")
    monkeypatch.setenv("ATTNSEP_BACKEND", "array_api_strict")
    assert arrays.namespace() is array_api_strict


def test_unknown_backend_names_where_it_came_from(monkeypatch):
    with pytest.raises(ValueError, match="backend = 'torch': must be one of"):
        arrays.namespace("torch")
    with pytest.raises(ValueError, match=r"^backend = '': must be one of"):  # which is not the same as none
        arrays.namespace("")
    monkeypatch.setenv("ATTNSEP_BACKEND", "gpu")
    with pytest.raises(ValueError, match="ATTNSEP_BACKEND = 'gpu'"):
        arrays.namespace()


def test_common_namespace_rejects_mixed_libraries():
    array_api_strict = pytest.importorskip("array_api_strict")
    with pytest.raises(TypeError, match=r"A, x: arrays of different libraries \(numpy, array_api_strict\)"):
        arrays.common_namespace(A=np.ones(2), x=array_api_strict.ones(2))


def test_common_namespace_rejects_mixed_devices():
    array_api_strict = pytest.importorskip("array_api_strict")
    other = array_api_strict.asarray([1.0], device=array_api_strict.Device("device1"))
    with pytest.raises(TypeError, match="A, x: arrays on different devices"):
        arrays.common_namespace(A=array_api_strict.ones(1), x=other)


def test_devices_are_named_in_order():
    array_api_strict = pytest.importorskip("array_api_strict")
    names = ("device2", "CPU_DEVICE", "device1")
    found = {name: array_api_strict.ones(1, device=array_api_strict.Device(name)) for name in names}
    with pytest.raises(TypeError, match=r"devices \(\S*CPU_DEVICE\S*, \S*device1\S*, \S*device2\S*\); use one$"):
        arrays.common_namespace(**found)


@pytest.mark.parametrize("name", ["A", "x"])
def test_each_array_must_be_plain(name):
    masked = np.ma.masked_equal([1.0, 2.0], 2.0)
    with pytest.raises(TypeError, match=f"^{name}: is a masked array"):
        arrays.common_namespace(**({"A": np.ones(2), "x": np.ones(2)} | {name: masked}))
    with pytest.raises(TypeError, match=r"^array: is a masked array"):
        arrays.to_numpy(masked)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8", "uint8"])
def test_common_namespace_is_that_of_real_arrays(xp, dtype):
    found = arrays.common_namespace(A=xp.ones(2, dtype=getattr(xp, dtype)), x=xp.ones(1))
    assert type(found.ones(1)) is type(xp.ones(1))


@pytest.mark.parametrize("dtype", ["complex128", "complex64", "bool"])
def test_common_namespace_rejects_what_is_not_real(xp, dtype):
    array = xp.ones(2, dtype=getattr(xp, dtype))
    with pytest.raises(TypeError, match=f"^A: dtype \\S*{dtype}, must be real \\(floating or integer\\)$"):
        arrays.common_namespace(x=xp.ones(1), A=array)


def test_require_shape_accepts_a_named_length_and_rejects_a_wrong_one():
    checks.require_shape("A", np.ones((3, 2)), ("n", "d"))
    with pytest.raises(ValueError, match=r"A: shape \(3, 2\), must be \(n,\)"):
        checks.require_shape("A", np.ones((3, 2)), ("n",))


def test_to_numpy(xp):
    result = arrays.to_numpy(xp.asarray([1.0, 2.0]))
    assert type(result) is np.ndarray
    assert result.tolist() == [1.0, 2.0]


def test_to_numpy_copies_nothing_of_numpys():
    x = np.ones(2)
    assert np.shares_memory(arrays.to_numpy(x), x)


@pytest.mark.parametrize("compute", [lambda x: 1 / x, lambda x: x / x, lambda x: (x + 1e308) * 10])
def test_quiet_keeps_every_warning_back(compute):
    with warnings.catch_warnings(), arrays.quiet():
        warnings.simplefilter("error")
        assert not np.isfinite(compute(np.zeros(1)))


@pytest.mark.parametrize("xp", ["numpy", types.SimpleNamespace(asarray=np.asarray), sys, 7])
def test_a_namespace_has_a_name_and_makes_arrays(xp):
    with pytest.raises(TypeError, match="must be an array namespace, such as the module numpy"):
        arrays.given_namespace(xp)


def test_the_strict_library_says_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "array_api_strict", None)
    with pytest.raises(RuntimeError, match="the package array-api-strict is not installed"):
        arrays.namespace("array_api_strict")
