"""From weights to a decision: random signs, a shifted ReLU, a sum, a ReLU."""

import math
from typing import Any

import numpy as np

from attnsep.arrays import common_namespace, given_namespace, quiet
from attnsep.checks import require_floating, require_generator, require_integer, require_real, require_size
from attnsep.kinds import AnyArray, Array, Namespace


def signs(rng: np.random.Generator, n: int, m: int, xp: Namespace | None = None) -> Array:
    """Draw the network's sign matrix y.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of the draws, so that every array library sees the same signs.
    n : int
        Rows: one per entry of the vector that meets them, at least 1.
    m : int
        Columns: one per hidden unit, at least 1.
    xp : module, optional
        Array namespace of the result; left out, ``arrays.namespace()`` decides.

    Returns
    -------
    array, shape (n, m)
        Independent entries, 1.0 or -1.0 with probability 1/2 each; float64.

    Raises
    ------
    ValueError, TypeError
        If n or m is not an integer of at least 1.

    Notes
    -----
    Source: section 1.1, where the randomness is over the weights of the network (law completed).
    Definition: def-random-signs.

    Examples
    --------
    >>> import numpy as np
    >>> signs(np.random.default_rng(1), 2, 3, np)
    array([[-1.,  1.,  1.],
           [ 1., -1., -1.]])
    """
    require_generator(rng)
    shape = (require_integer("n", n, least=1), require_integer("m", m, least=1))
    require_size(n=shape[0], m=shape[1])
    xp = given_namespace(xp)
    return xp.asarray(2.0 * rng.integers(0, 2, shape) - 1.0)


def relu(z: AnyArray) -> AnyArray:
    """Return max(z, 0), entry by entry.

    Parameters
    ----------
    z : array, any shape
        Real floating; a NaN stays NaN.

    Returns
    -------
    array, the shape of z

    Raises
    ------
    TypeError
        If z is no real floating array.

    Notes
    -----
    ReLU(z) = max(z, 0).  Source: section 1.1, "ReLU units" (formula completed).  Definition: def-relu.

    Examples
    --------
    >>> import numpy as np
    >>> relu(np.array([-1.0, 2.0]))
    array([0., 2.])
    """
    xp = common_namespace(z=z)
    require_floating(xp, z=z)
    return xp.maximum(z, xp.zeros_like(z))


def shifted_relu(z: AnyArray, tau: float) -> AnyArray:
    """Return max(z − τ, 0), entry by entry.

    Parameters
    ----------
    z : array, any shape
        Real floating; a NaN stays NaN.
    tau : float
        Threshold τ.

    Returns
    -------
    array, the shape of z

    Raises
    ------
    ValueError, TypeError
        If z is no real floating array, or τ no finite real number.

    Notes
    -----
    ReLU_τ(z) = max(z − τ, 0).  Source: section 6 names τ (formula completed).  Definition: def-shifted-relu.

    Examples
    --------
    >>> import numpy as np
    >>> shifted_relu(np.array([0.25, 0.75]), 0.5)
    array([0.  , 0.25])
    """
    tau = require_real("tau", tau)
    xp = common_namespace(z=z)  # before the subtraction, so that an error speaks of z and not of an operand
    require_floating(xp, z=z)
    with quiet():  # a τ that float32 cannot hold is above or below all that it can
        return relu(z - tau)


def network(f: Array, y: Array, tau: float) -> Array:
    """Return the output of the network after attention, F ≥ 0; it fires where F > 0.

    Parameters
    ----------
    f : array, shape (n,) or (rows, k)
        One query's weights, or the attention output of every row.
    y : array, shape (n, m) or (k, m)
        Signs.  Not checked to be 1 or -1; cast to f's dtype, which signs survive.
    tau : float
        Threshold τ.

    Returns
    -------
    array, shape ()
        F; it fires where F > 0, that is where ⟨f, column⟩ exceeds τ for some column of y.

    Raises
    ------
    ValueError, TypeError
        If the shapes do not fit, the arrays' libraries, devices or dtypes do not, τ is no finite real number or
        the output is not finite.

    Notes
    -----
    F = ReLU(Σ_i ReLU_τ(⟨f, y^(i)⟩)) over the columns y^(i), with a second sum over the rows where there are rows.
    Source: section 1.1 (layers completed).  Definition: def-network-one-query.

    Examples
    --------
    >>> import numpy as np
    >>> float(network(np.array([0.5, 0.5]), np.array([[1.0, 1.0], [1.0, -1.0]]), 0.25))
    0.75
    """
    xp = common_namespace(f=f, y=y)
    F = _output(xp, f, y, tau)
    if not bool(xp.isfinite(F)):  # the one host synchronisation
        raise ValueError("f: the network's output is not finite; f or y has NaN or inf, or is too large")
    return F


def fires(f: Array, y: Array, tau: float) -> bool:
    """Return whether the network fires, that is whether its output is above zero.

    Parameters
    ----------
    f, y, tau
        As in `network`.

    Returns
    -------
    bool
        F > 0.  A tie ⟨f, y_j⟩ = τ does not fire; rounding may move a tie, which `exact` decides without rounding.

    Raises
    ------
    ValueError, TypeError
        As in `network`.

    Notes
    -----
    Definition: def-network-one-query.  Claims: fires-iff-a-column-exceeds, firing-frequency.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([[1.0, 1.0], [1.0, -1.0]])
    >>> fires(np.array([0.5, 0.5]), y, 0.25), fires(np.array([0.5, 0.5]), y, 1.0)
    (True, False)
    """
    F = float(_output(common_namespace(f=f, y=y), f, y, tau))  # the one host synchronisation
    if not math.isfinite(F):
        raise ValueError("f: the network's output is not finite; f or y has NaN or inf, or is too large")
    return F > 0


def _output(xp: Namespace, f: Array, y: Array, tau: float) -> Any:
    require_floating(xp, f=f)
    if f.ndim not in (1, 2):
        raise ValueError(f"f: shape {tuple(f.shape)}, must be (n,) or (rows, k)")
    if y.ndim != 2 or y.shape[0] != f.shape[-1]:
        raise ValueError(f"y: shape {tuple(y.shape)}, must be ({f.shape[-1]}, m)")
    with quiet():
        return relu(xp.sum(shifted_relu(xp.matmul(f, xp.astype(y, f.dtype, copy=False)), tau)))
