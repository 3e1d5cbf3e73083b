"""Which array library the book computes with, and the checks that every array passes on its way in."""

import os
from functools import cache

import array_api_compat
import array_api_compat.numpy

BACKENDS = ("auto", "numpy", "cupy", "array_api_strict")


def namespace(backend=None):
    """Return the array namespace that new arrays are made in.

    Parameters
    ----------
    backend : str, optional
        One of ``auto``, ``numpy``, ``cupy``, ``array_api_strict``.  Left out, the environment variable
        ``ATTNSEP_BACKEND`` decides, and without it ``auto``: CuPy where a kernel really runs, else NumPy.

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
    if backend not in BACKENDS:
        raise ValueError(f"{source} = {backend!r}: must be one of {', '.join(BACKENDS)}")
    return _load(backend)


@cache
def _load(backend):
    if backend == "numpy":
        return array_api_compat.numpy
    if backend == "array_api_strict":
        import array_api_strict

        return array_api_strict
    xp, reason = _probe_cupy()
    if xp is not None:
        return xp
    if backend == "cupy":
        raise RuntimeError(f"ATTNSEP_BACKEND=cupy, but CuPy cannot run here ({reason}); use auto or numpy instead")
    return array_api_compat.numpy


def _probe_cupy():
    """Return (namespace, "") if CuPy runs a kernel here, else (None, the reason).

    CuPy imports without a GPU, and reports a GPU without the CUDA libraries, so only a kernel that ran is proof.
    """
    try:
        import array_api_compat.cupy as xp

        if int(xp.sum(xp.asarray([1, 2]) * 2)) != 6:
            return None, "a test kernel returned a wrong sum"
    except Exception as error:  # CuPy raises its own, CUDA's and the linker's errors here
        return None, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}"
    return xp, ""


def backend_name(xp):
    """Return the short name of an array namespace.

    Examples
    --------
    >>> backend_name(namespace("numpy"))
    'numpy'
    """
    return xp.__name__.removeprefix("array_api_compat.").split(".")[0]


def common_namespace(**arrays):
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
    for name, array in arrays.items():
        if not array_api_compat.is_array_api_obj(array):
            raise TypeError(f"{name} = {array!r}: must be an array (NumPy, CuPy or another array-API library)")
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


def require_floating(xp, **arrays):
    """Raise a TypeError that names the first array whose dtype is not real floating.

    Examples
    --------
    >>> import numpy as np
    >>> require_floating(namespace("numpy"), scores=np.arange(3))
    Traceback (most recent call last):
    ...
    TypeError: scores: dtype int64, must be real floating (float64, float32)
    """
    for name, array in arrays.items():
        if not xp.isdtype(array.dtype, "real floating"):
            raise TypeError(f"{name}: dtype {array.dtype}, must be real floating (float64, float32)")


def require_shape(name, array, shape):
    """Raise a ValueError unless `array` has the shape; a string in `shape` stands for any length.

    Examples
    --------
    >>> import numpy as np
    >>> require_shape("A", np.ones((3, 2)), ("n", 2))
    >>> require_shape("x", np.ones(3), (2,))
    Traceback (most recent call last):
    ...
    ValueError: x: shape (3,), must be (2,)
    """
    fits = len(array.shape) == len(shape) and all(
        isinstance(want, str) or have == want for have, want in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted = "(" + ", ".join(str(want) for want in shape) + ("," if len(shape) == 1 else "") + ")"
        raise ValueError(f"{name}: shape {tuple(array.shape)}, must be {wanted}")


def to_numpy(array):
    """Return the array as a NumPy array on the host; the one way off a GPU.

    Examples
    --------
    >>> to_numpy(namespace("numpy").asarray([1.0, 2.0]))
    array([1., 2.])
    """
    import numpy as np

    if array_api_compat.is_cupy_array(array):
        return array.get()
    return np.asarray(array)
