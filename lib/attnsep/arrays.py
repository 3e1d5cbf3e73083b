"""Which array library the book computes with, and the checks that every array passes on its way in."""

import os
import sys
import warnings
from functools import cache
from typing import Any

import array_api_compat.numpy
import numpy as np

from attnsep.checks import require_choice, require_plain, text_of
from attnsep.kinds import Array, Namespace

BACKENDS = ("auto", "numpy", "cupy", "array_api_strict")


NOT_INSTALLED = "it is not installed"


def namespace(backend: str | None = None) -> Namespace:
    """Return the array library in which new arrays are made, as a namespace: NumPy, CuPy or a strict one.

    Parameters
    ----------
    backend : str, optional
        One of ``auto``, ``numpy``, ``cupy``, ``array_api_strict``.  Left out, the environment variable
        ``ATTNSEP_BACKEND`` decides, and without it ``auto``: CuPy where a kernel really runs, else NumPy.
        Where CuPy is installed but cannot run, ``auto`` says so once on standard error.

    Returns
    -------
    module
        An array-API namespace.

    Raises
    ------
    ValueError
        If the name is unknown.
    RuntimeError
        If a backend is asked for by name and cannot run here.

    Examples
    --------
    >>> namespace("numpy").asarray([1.0, 2.0])
    array([1., 2.])
    """
    source = "backend"
    if backend is None:
        source, backend = "ATTNSEP_BACKEND", os.environ.get("ATTNSEP_BACKEND", "auto")
    return _load(require_choice(source, backend, BACKENDS))


def given_namespace(xp: Namespace | None) -> Namespace:
    """Return `xp`, or where it is None what `namespace` decides; raise a TypeError if it is no array namespace.

    Examples
    --------
    >>> given_namespace("numpy")
    Traceback (most recent call last):
    ...
    TypeError: xp = 'numpy': must be an array namespace, such as the module numpy
    """
    if xp is None:
        return namespace()
    if not (hasattr(xp, "asarray") and isinstance(getattr(xp, "__name__", None), str)):
        raise TypeError(f"xp = {text_of(xp)}: must be an array namespace, such as the module numpy")
    return xp


@cache
def _load(backend: str) -> Namespace:
    if backend == "numpy":
        return array_api_compat.numpy
    if backend == "array_api_strict":
        try:
            import array_api_strict
        except ImportError:
            raise RuntimeError("backend array_api_strict: the package array-api-strict is not installed") from None
        return array_api_strict
    xp, reason = _probe_cupy()
    if xp is not None:
        return xp
    if backend == "cupy":
        raise RuntimeError(f"backend cupy: CuPy cannot run here ({reason}); use auto or numpy instead")
    if reason != NOT_INSTALLED:  # who has no CuPy expects none, and every notebook would carry the sentence
        print(f"attnsep: CuPy is installed but cannot run here ({reason}), so NumPy computes.", file=sys.stderr)
    return array_api_compat.numpy


def _probe_cupy() -> tuple[Namespace | None, str]:
    """Return (namespace, "") if CuPy computes here, else (None, the reason).

    CuPy imports without a GPU, and reports a GPU without the CUDA libraries, so only a result is proof: the product
    needs cuBLAS, the rest a compiler for kernels.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # CuPy warns of optional libraries that the book never uses
            import array_api_compat.cupy as xp

            x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])  # CuPy multiplies two vectors without cuBLAS
            if float(xp.sum(xp.matmul(x, x) * 2)) != 108:
                return None, "a test kernel returned a wrong sum"
    except Exception as error:  # CuPy raises its own, CUDA's and the linker's errors here
        return None, _reason(error)
    return xp, ""


def _reason(error: BaseException) -> str:
    """Return the first line that says something; CuPy frames its messages and hides the cause below them."""
    if isinstance(error, ModuleNotFoundError) and error.name in ("cupy", "array_api_compat.cupy"):
        return NOT_INSTALLED
    cause = error.__cause__ or error
    lines = [line.strip() for line in str(cause).splitlines() if any(map(str.isalpha, line))]
    return f"{type(cause).__name__}: {lines[0].rstrip('.') if lines else 'no message'}"


def backend_name(xp: Namespace) -> str:
    """Return the short name of an array namespace.

    Examples
    --------
    >>> backend_name(namespace("numpy"))
    'numpy'
    """
    return given_namespace(xp).__name__.removeprefix("array_api_compat.").split(".")[0]


def common_namespace(**arrays: Array) -> Namespace:
    """Return the namespace that all named arrays share.

    Parameters
    ----------
    **arrays : array
        The arguments to check, under the names that an error should mention.

    Returns
    -------
    module
        Their common array-API namespace.

    Raises
    ------
    TypeError
        If one of them is no array, not real, or they differ in library or device.

    Examples
    --------
    >>> import numpy as np
    >>> common_namespace(A=np.ones((2, 2)), x=[1.0, 2.0])
    Traceback (most recent call last):
    ...
    TypeError: x = [1.0, 2.0]: must be an array (NumPy, CuPy or another array-API library)
    """
    if arrays and all(_is_plain_and_real(array) for array in arrays.values()):
        return array_api_compat.numpy  # the usual case, found without asking for all libraries
    for name, array in arrays.items():
        if not array_api_compat.is_array_api_obj(array):
            raise TypeError(f"{name} = {text_of(array)}: must be an array (NumPy, CuPy or another array-API library)")
        require_plain(name, array)
    names = ", ".join(arrays)
    try:
        xp = array_api_compat.array_namespace(*arrays.values())
    except TypeError:
        libraries = ", ".join(type(array).__module__.split(".")[0] for array in arrays.values())
        raise TypeError(f"{names}: arrays of different libraries ({libraries}); use one") from None
    devices = {str(array_api_compat.device(array)) for array in arrays.values()}
    if len(devices) > 1:
        raise TypeError(f"{names}: arrays on different devices ({', '.join(sorted(devices))}); use one")
    for name, array in arrays.items():
        if not xp.isdtype(array.dtype, "real floating") and not xp.isdtype(array.dtype, "integral"):
            raise TypeError(f"{name}: dtype {array.dtype}, must be real (floating or integer)")
    return xp


def _is_plain_and_real(array: object) -> bool:
    return type(array) is np.ndarray and array.dtype.kind in "iuf"


def require_real_dtype(xp: Namespace, dtype: Any) -> Any:
    """Return `dtype`, float64 where it is None, or raise a TypeError unless it is a real floating dtype.

    Examples
    --------
    >>> require_real_dtype(namespace("numpy"), int)
    Traceback (most recent call last):
    ...
    TypeError: dtype = <class 'int'>: must be a real floating dtype of numpy
    """
    if dtype is None:
        return xp.float64
    try:
        fits = xp.isdtype(dtype, "real floating")
    except (TypeError, ValueError, AttributeError):  # each library has its own word for what is no dtype at all
        fits = False
    if not fits:
        raise TypeError(f"dtype = {text_of(dtype)}: must be a real floating dtype of {backend_name(xp)}")
    return dtype


def quiet() -> np.errstate:
    """Return a context without NumPy's warnings of what is not finite, for results that `require_finite` checks.

    Examples
    --------
    >>> import numpy as np
    >>> with quiet():
    ...     float(np.float64(1e308) * 10)
    inf
    """
    return np.errstate(over="ignore", invalid="ignore", divide="ignore")


def to_numpy(array: Array) -> np.ndarray[Any, Any]:
    """Return the array as a NumPy array; from a GPU it is copied, and nothing else in the library does that.

    Examples
    --------
    >>> to_numpy(namespace("numpy").asarray([1.0, 2.0]))
    array([1., 2.])
    """
    if not array_api_compat.is_array_api_obj(array):
        raise TypeError(f"array = {text_of(array)}: must be an array")
    require_plain("array", array)
    if array_api_compat.is_cupy_array(array):
        return array.get()  # type: ignore[attr-defined]
    return np.asarray(array)
