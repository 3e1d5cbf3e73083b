"""Scores and attention, without the Kronecker matrix that the paper's notation writes and without all n² weights."""

import math
from typing import Literal, overload

import numpy as np
from array_api_compat import device

from attnsep.arrays import common_namespace, quiet
from attnsep.attention import _streams
from attnsep.attention._rows import times
from attnsep.attention.kernels import Kernel, require_kernel
from attnsep.checks import (
    require_decimal,
    require_finite,
    require_floating,
    require_integer,
    require_shape,
    text_of,
)
from attnsep.kinds import AnyArray, Number

PLAIN = {"softmax": _streams.softmax_plain, "linear": _streams.linear_plain}  # for every array library


def query_scores(A, x):
    """Scores of every token for one query.

    Parameters
    ----------
    A : array, shape (n, d)
        Token vectors.
    x : array, shape (d,)
        The query.

    Returns
    -------
    array, shape (n,)
        A x, dimensionless.

    Raises
    ------
    ValueError, TypeError
        If the shapes do not fit, the arrays' libraries, devices or dtypes do not, or a score is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> query_scores(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 1.0]))
    array([3., 7.])
    """
    xp = common_namespace(A=A, x=x)
    require_floating(xp, A=A, x=x)
    require_shape("A", A, ("n", "d"))
    require_shape("x", x, (A.shape[1],))
    with quiet():
        return require_finite(xp, xp.matmul(A, x), "A, x")


def row_scores(A1, A2, X):
    """Scores of every token for every query row: row j is the paper's A_j vec(X).

    Parameters
    ----------
    A1, A2 : array, shape (n, d)
        Query side and key side.
    X : array, shape (d, d)
        The weight matrix W_Q W_Kᵀ.

    Returns
    -------
    array, shape (n, n)
        A1 X A2ᵀ; entry (j, i) is row j's score of token i.

    Raises
    ------
    ValueError, TypeError
        If the shapes do not fit or the arrays' libraries, devices or dtypes do not.

    Notes
    -----
    A_j x = A2 Xᵀ (A1)_jᵀ with x = vec(X) row-major.  Source: A1 ⊗ A2 (completed).  Claims: tensor-trick,
    scores-without-kronecker.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> row_scores(A, A, np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[ 2.,  4.],
           [ 6., 12.]])
    """
    xp = common_namespace(A1=A1, A2=A2, X=X)
    require_floating(xp, A1=A1, A2=A2, X=X)
    require_shape("A1", A1, ("n", "d"))
    require_shape("A2", A2, tuple(A1.shape))
    require_shape("X", X, (A1.shape[1], A1.shape[1]))
    with quiet():
        return require_finite(xp, xp.matmul(xp.matmul(A1, X), xp.matrix_transpose(A2)), "A1, A2, X")


@overload
def attend(
    q: AnyArray,
    k: AnyArray,
    v: AnyArray,
    *,
    kernel: Kernel | str = ...,
    scale: Number = ...,
    unique: bool | None = ...,
    cancellation: Literal[False] = ...,
    rng: np.random.Generator | None = ...,
    threads: int | None = ...,
) -> AnyArray: ...


@overload
def attend(
    q: AnyArray,
    k: AnyArray,
    v: AnyArray,
    *,
    kernel: Kernel | str = ...,
    scale: Number = ...,
    unique: bool | None = ...,
    cancellation: Literal[True],
    rng: np.random.Generator | None = ...,
    threads: int | None = ...,
) -> tuple[AnyArray, float]: ...


def attend(
    q: AnyArray,
    k: AnyArray,
    v: AnyArray,
    *,
    kernel: Kernel | str = "softmax",
    scale: Number = 1.0,
    unique: bool | None = None,
    cancellation: bool = False,
    rng: np.random.Generator | None = None,
    threads: int | None = None,
) -> AnyArray | tuple[AnyArray, float]:
    """Attention outputs of every query row, without the matrix of all scores.

    The kernel ``linear`` weighs by the scores q_j · k_i themselves, divided by their row sum.  It has no feature map,
    so a weight can be negative and a row sum 0; what others call linear attention is ``elu+1`` here.  Scores are not
    divided by √d unless `scale` says so.

    Parameters
    ----------
    q : array, shape (..., rows, d)
        Queries.  The leading axes of q, k and v broadcast, as in a product of matrices.
    k : array, shape (..., n, d)
        Keys, n ≥ 1 and d ≥ 1.
    v : array, shape (..., n, width)
        Values.
    kernel : Kernel or str
        Such as ``Softmax(beta=2)`` or ``topk:16``.  ``window`` needs as many rows as keys.
    scale : int, float, Fraction or str
        At least 0; multiplies all scores, and the queries where a feature map acts on them: 1/√d is usual.
        ``softmax:β`` means β times this scale.
    unique : bool, optional
        Compute equal rows of q once.  The result is the same up to rounding.  Left out, it is done where there are no
        leading axes.  A window never does.
    cancellation : bool
        Return also how far the row sums of linear attention stay from cancelling; for ``kernel="linear"`` alone.
    rng : numpy.random.Generator, optional
        Source of the random features of ``performer``, one draw for all leading axes; no other kernel takes it.
    threads : int, optional
        Threads that share the rows, at least 1, for softmax and for linear attention in NumPy; left out, one for each
        core that this process may use.  Little work is not shared.  It needs threadpoolctl, which keeps BLAS at one
        thread meanwhile: without it the threads of BLAS itself are used.  May be called from several threads at once.

    Returns
    -------
    array, shape (..., rows, width)
        Row j is Σ_i f_ji v_i with weights f_j from the scores scale · q_j · k_i.
    float
        If `cancellation`: the smallest ``|Σ_i q_j·k_i| / Σ_i Σ_p |q_jp k_ip|``, at most
        ``|Σ_i q_j·k_i| / Σ_i |q_j·k_i|``.

    Raises
    ------
    ValueError, TypeError
        If the shapes do not fit, the arrays' libraries, devices or dtypes do not, the kernel is unknown, cannot
        cancel or lacks its generator, a row sum is 0 within rounding (α_lin = 0 for linear attention), or the output
        is not finite.

    Notes
    -----
    Softmax: blocks of rows and keys, with the largest score so far subtracted: O(rows n d) operations and one block of
    scores in memory.  Linear: q(kᵀv) over q(kᵀ1), O((rows + n) d²) operations.  Feature maps (elu+1, relu, performer):
    the same with mapped rows.  Where products of these would underflow or overflow, powers of two that cancel in the
    weights are taken out first.  Window: softmax over the tokens at most `width` places away.  All others: whole rows
    of scores, as many at a time as fit into one block, at least one.  Where keys and values have no leading axes, all
    queries are one set of rows; else one set after the other is attended to.
    Definitions: def-self-attention, def-kernels.  Claim: attention-streams.

    Examples
    --------
    >>> import numpy as np
    >>> q, k, v = np.array([[1.0], [1.0]]), np.array([[1.0], [3.0]]), np.array([[4.0], [8.0]])
    >>> attend(q, k, v, kernel="linear")
    array([[7.],
           [7.]])
    >>> heads = np.stack([v, 10 * v])
    >>> attend(q, k, heads, kernel="linear", scale=0.5)[:, 0, 0]
    array([ 7., 70.])
    """
    xp = common_namespace(q=q, k=k, v=v)
    axes = _require_attention(xp, q, k, v)
    kernel = require_kernel(kernel)
    factor = _factor(scale, kernel)
    if cancellation and not kernel.can_cancel:
        raise ValueError(f"cancellation = {cancellation}: only kernel = 'linear' has row sums that can cancel")
    if kernel.random != (rng is not None):
        takes = "needs a" if rng is None else "takes no"
        raise ValueError(f"rng = {text_of(rng)}: kernel = {str(kernel)!r} {takes} generator")
    threads = None if threads is None else require_integer("threads", threads, least=1)
    unique = (not axes if unique is None else unique) and not kernel.by_place
    with quiet():
        q = q if factor == 1 else times(xp, q, factor)
        if kernel.random:
            kernel = kernel._drawn(q.shape[-1], rng)
        output, cancelling = _attend_sets(xp, q, k, v, axes, kernel, unique, threads)
    output = require_finite(xp, output, "q, k, v")
    return (output, float(cancelling)) if cancellation else output


def _factor(scale, kernel):
    """Return what the queries are multiplied by: the scale times the kernel's own, or 1 where that changes nothing."""
    if type(scale) is not float or scale != 1:  # the usual case needs no reading
        scale = require_decimal("scale", scale)
    if scale > 0 and kernel.scale_free:
        return 1
    return kernel.scale if scale == 1 else scale * kernel.scale


def _require_attention(xp, q, k, v):
    """Return the leading axes that q, k and v have together."""
    require_floating(xp, q=q, k=k, v=v)
    if len({q.dtype, k.dtype, v.dtype}) > 1:
        raise TypeError(f"q, k, v: dtypes {q.dtype}, {k.dtype}, {v.dtype}; use one")
    plain = q.ndim == k.ndim == v.ndim == 2
    require = require_shape if plain else _require_last
    require("q", q, ("rows", "d"))
    require("k", k, ("n", q.shape[-1]))
    require("v", v, (k.shape[-2], "width"))
    for name, array, least in (("q", q, q.shape), ("k", k, k.shape), ("v", v, v.shape[:-2])):
        if 0 in least:
            raise ValueError(f"{name}: shape {tuple(array.shape)}, must have at least one row and one column")
    if plain:
        return ()
    leading = [tuple(x.shape[:-2]) for x in (q, k, v)]
    try:
        return np.broadcast_shapes(*leading)
    except ValueError:
        shapes = ", ".join(map(str, leading))
        raise ValueError(f"q, k, v: leading axes {shapes}, must broadcast") from None


def _require_last(name, array, shape):
    """Raise a ValueError unless the last two axes have this shape."""
    if array.ndim <= 2:
        require_shape(name, array, shape)
    elif any(not isinstance(want, str) and have != want for have, want in zip(array.shape[-2:], shape, strict=True)):
        wanted = ", ".join(map(str, ("...", *shape)))
        raise ValueError(f"{name}: shape {tuple(array.shape)}, must be ({wanted})")


def _attend_sets(xp, q, k, v, axes, kernel, unique, threads):
    """Return the outputs, and the smallest cancellation, of every set of queries with its keys and values."""
    if not axes:
        return _attend_set(xp, q, k, v, kernel, unique, threads)
    shape = (*axes, q.shape[-2], v.shape[-1])
    if math.prod(k.shape[:-2]) == math.prod(v.shape[:-2]) == 1 and not kernel.by_place:
        rows, k, v = (xp.reshape(x, (-1, x.shape[-1])) for x in (q, k, v))
        output, cancelling = _attend_set(xp, rows, k, v, kernel, unique, threads)
        return xp.broadcast_to(xp.reshape(output, (*q.shape[:-1], v.shape[-1])), shape), cancelling
    q, k, v = (xp.broadcast_to(x, (*axes, *x.shape[-2:])) for x in (q, k, v))
    output, found = xp.empty(shape, dtype=q.dtype, device=device(q)), []
    for at in np.ndindex(*axes):
        one = (*at, ...)
        output[one], cancelling = _attend_set(xp, q[one], k[one], v[one], kernel, unique, threads)
        found.append(cancelling)
    return output, min(found) if kernel.can_cancel else None


def _attend_set(xp, q, k, v, kernel, unique, threads):
    rows, place = distinct_rows(q) if unique else (q, None)
    output, cancelling = kernel._attend(xp, rows, k, v, threads)
    return output if place is None else xp.take(output, place, axis=0), cancelling


def distinct_rows(q):
    """Find equal rows.

    Parameters
    ----------
    q : array, shape (rows, d)
        Real floating.

    Returns
    -------
    distinct : array, shape (k, d)
        Rows of q; none twice, unless the search was given up or rounding misled it.
    place : array, shape (rows,), or None
        ``distinct[place]`` equals q; None stands for q itself, which is then `distinct`.

    Raises
    ------
    TypeError
        If q is no real floating array.

    Notes
    -----
    Equal rows have equal sums against one fixed vector, so sorting these sums finds them in O(rows d) operations and
    one sort; mostly the sums over the first and the last entry, taken before, show that there are none.  Unequal rows
    may have equal sums as well, so every row is compared with the row that stands for it; at the first difference the
    search is given up.  Claim: attention-streams.

    Examples
    --------
    >>> import numpy as np
    >>> distinct, place = distinct_rows(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]))
    >>> distinct[place]
    array([[1., 2.],
           [3., 4.],
           [1., 2.]])
    """
    xp = common_namespace(q=q)
    require_floating(xp, q=q)
    require_shape("q", q, ("rows", "d"))
    if min(q.shape) == 0:
        return q, None
    # In float64, for among a hundred thousand rows some have equal sums in float32; divided, so that none overflows.
    first, last = (xp.astype(q[:, i], xp.float64) for i in (0, -1))
    if not _repeats(xp, first * (math.sin(1) / 2) + last * (math.sin(2) / 2)):
        return q, None
    blocks = _streams.slices(q.shape[0], _streams.scores_at_once(xp) // q.shape[1])
    fixed = xp.sin(xp.arange(1, q.shape[1] + 1, dtype=q.dtype, device=device(q))) / q.shape[1]
    # Not a matrix product, which may round equal rows differently.
    sums = xp.concat([xp.sum(q[block, :] * fixed, axis=1) for block in blocks])
    if not _repeats(xp, sums):  # what follows takes longer
        return q, None
    _, first, place, _ = xp.unique_all(sums)
    distinct = xp.take(q, first, axis=0)
    same = [xp.all(q[block, :] == xp.take(distinct, place[block], axis=0)) for block in blocks]
    return (distinct, place) if bool(xp.all(xp.stack(same))) else (q, None)


def _repeats(xp, x):
    """Whether two entries are equal."""
    ordered = xp.sort(x, stable=False)
    return bool(xp.any(ordered[1:] == ordered[:-1]))


def values(A1, A2, A3, X, kernel="softmax", *, rng=None):
    """Attention output o_j of every token.

    Parameters
    ----------
    A1, A2, A3 : array, shape (n, d)
        Query, key and value side.
    X : array, shape (d, d)
        The weight matrix W_Q W_Kᵀ.
    kernel, rng
        As in `attend`.

    Returns
    -------
    array, shape (n, d)
        Row j is o_j = A3ᵀ f_j.

    Raises
    ------
    ValueError, TypeError
        As in `row_scores` and `attend`.

    Notes
    -----
    f_j are the weights of the scores A_j x, row j of A1 X A2ᵀ; feature maps act on A1 X and A2.  Only distinct rows of
    A1 are multiplied by X.
    Completed.  Definition: def-self-attention.  Claim: values-in-closed-form.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[1.0], [3.0]])
    >>> values(A, A, A, np.array([[1.0]]), kernel="linear")
    array([[2.5],
           [2.5]])
    """
    xp = common_namespace(A1=A1, A2=A2, A3=A3, X=X)
    require_shape("A1", A1, ("n", "d"))
    require_shape("A2", A2, tuple(A1.shape))
    require_shape("A3", A3, tuple(A1.shape))
    require_shape("X", X, (A1.shape[1], A1.shape[1]))
    try:
        kernel = require_kernel(kernel)
        rows, place = (A1, None) if kernel.by_place else distinct_rows(A1)
        with quiet():
            if kernel.scale_free and not _streams.in_range(xp, rows, X):
                rows, X = _streams.balanced_pair(xp, (rows, 0), (xp.matrix_transpose(X), 0))
                X = xp.matrix_transpose(X)
            q = xp.matmul(rows, X)
        output = attend(q, A2, A3, kernel=kernel, rng=rng)
    except (ValueError, TypeError) as error:  # which speaks of q, k and v
        raise type(error)(f"A1, A2, A3, X: {error}") from None
    return output if place is None else xp.take(output, place, axis=0)
