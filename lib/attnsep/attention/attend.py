"""Scores and attention, without the Kronecker matrix that the paper's notation writes and without all n² weights."""

import math

from array_api_compat import device, is_cupy_namespace

from attnsep.arrays import common_namespace, quiet, to_numpy
from attnsep.attention import _fast, kernels
from attnsep.attention.kernels import require_kernel
from attnsep.checks import require_finite, require_floating, require_generator, require_integer, require_shape, text_of

BLOCK_ROWS, BLOCK_SCORES = 512, 2**17  # 1 MiB of float64 scores at a time stay in the cache


GPU_SCORES = 2**23  # so that a GPU is not handed a few rows at a time where n is large


BLOCK_KEYS = 1024  # a sum over more keys at once would round equal terms in one direction


# A power of two on all scores of a row changes none of their weights, or not which tokens are the largest.
SCALE_FREE = ("linear", "relu", "polynomial", "squared-relu", "hard")


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


def attend(q, k, v, *, kernel="softmax", unique=True, report=False, rng=None, threads=None):
    """Attention outputs of every query row, without the matrix of all scores.

    Parameters
    ----------
    q : array, shape (rows, d)
        Queries.
    k : array, shape (n, d)
        Keys, n ≥ 1 and d ≥ 1.
    v : array, shape (n, width)
        Values.
    kernel : str
        A name of ``spec.PARAMETERS``, such as ``linear`` or ``topk:16``.  ``window`` needs as many rows as keys.
    unique : bool
        Compute equal rows of q once.  The result is the same up to rounding.  A window never does.
    report : bool
        Return also how far the row sums of linear attention stay from cancelling; for ``kernel="linear"`` alone.
    rng : numpy.random.Generator, optional
        Source of the random features of ``performer``; no other kernel takes it.
    threads : int, optional
        Threads that share the rows, at least 1, for softmax and for linear attention in NumPy; left out, one for each
        core that this process may use.  Little work is not shared.  It needs threadpoolctl, which keeps BLAS at one
        thread meanwhile: without it the threads of BLAS itself are used.  May be called from several threads at once.

    Returns
    -------
    array, shape (rows, width)
        Row j is Σ_i f_ji v_i with weights f_j from the scores q_j · k_i, which are not divided by √d.
    float
        If `report`: the smallest ``|Σ_i q_j·k_i| / Σ_i Σ_p |q_jp k_ip|``, at most
        ``|Σ_i q_j·k_i| / Σ_i |q_j·k_i|``.

    Raises
    ------
    ValueError, TypeError
        If the shapes do not fit, the arrays' libraries, devices or dtypes do not, the kernel is unknown, cannot
        report or lacks its generator, a row sum is 0 within rounding (α_lin = 0 for linear attention), or the output
        is not finite.

    Notes
    -----
    Softmax: blocks of rows and keys, with the largest score so far subtracted: O(rows n d) operations and one block of
    scores in memory.  Linear: q(kᵀv) over q(kᵀ1), O((rows + n) d²) operations.  Feature maps (elu+1, relu, performer):
    the same with mapped rows.  Where products of these would underflow or overflow, powers of two that cancel in the
    weights are taken out first.  Window: softmax over the tokens at most `width` places away.  All others: whole rows
    of scores, as many at a time as fit into one block, at least one.
    Definitions: def-self-attention, def-kernels.  Claim: attention-streams.

    Examples
    --------
    >>> import numpy as np
    >>> q, k, v = np.array([[1.0], [1.0]]), np.array([[1.0], [3.0]]), np.array([[4.0], [8.0]])
    >>> attend(q, k, v, kernel="linear")
    array([[7.],
           [7.]])
    """
    xp = common_namespace(q=q, k=k, v=v)
    _require_attention(xp, q, k, v)
    name, parameter = require_kernel(kernel)
    if report and name != "linear":
        raise ValueError("report = True: only kernel = 'linear' has row sums that can cancel")
    if (name == "performer") != (rng is not None):
        takes = "needs a" if rng is None else "takes no"
        raise ValueError(f"rng = {text_of(rng)}: kernel = {kernel!r} {takes} generator")
    threads = None if threads is None else require_integer("threads", threads, least=1)
    with quiet():
        rows, place = distinct_rows(q) if unique and name != "window" else (q, None)
        if name == "performer":
            rows, k = _performer_exponents(xp, rows, k, parameter, rng)
        output, cancelling = ATTEND.get(name, _attend_rows)(xp, rows, k, v, kernel, threads)
    output = require_finite(xp, output, "q, k, v")
    output = output if place is None else xp.take(output, place, axis=0)
    return (output, float(cancelling)) if report else output


def _require_attention(xp, q, k, v):
    require_floating(xp, q=q, k=k, v=v)
    if len({q.dtype, k.dtype, v.dtype}) > 1:
        raise TypeError(f"q, k, v: dtypes {q.dtype}, {k.dtype}, {v.dtype}; use one")
    require_shape("q", q, ("rows", "d"))
    require_shape("k", k, ("n", q.shape[1]))
    require_shape("v", v, (k.shape[0], "width"))
    for name, array in (("q", q), ("k", k)):
        if min(array.shape) == 0:
            raise ValueError(f"{name}: shape {tuple(array.shape)}, must have at least one row and one column")


def _attend_softmax(xp, q, k, v, kernel, threads=None):
    """Return the outputs; the second value is for linear attention alone."""
    beta = require_kernel(kernel).parameter
    q = q if beta == 1 else kernels.times(xp, q, beta)
    if _fast.serves(xp):
        return _fast.softmax_attention(q, k, v, threads), None
    return _softmax_plain(xp, q, k, v)


def _softmax_plain(xp, q, k, v):
    output = xp.empty((q.shape[0], v.shape[1]), dtype=q.dtype, device=device(q))
    for block in _blocks(q.shape[0], BLOCK_ROWS):
        output[block, :] = _softmax_rows(xp, q[block, :], k, v)
    return output, None


def _softmax_rows(xp, q, k, v):
    """Online softmax: where a block brings a larger score, all that came before shrinks by the same factor."""
    largest = xp.full((q.shape[0], 1), -xp.inf, dtype=q.dtype, device=device(q))
    total, output = xp.zeros_like(largest), 0
    for block in _blocks(k.shape[0], min(BLOCK_KEYS, BLOCK_SCORES // q.shape[0])):
        u = xp.matmul(q, xp.matrix_transpose(k[block, :]))
        before, largest = largest, xp.maximum(largest, xp.max(u, axis=1, keepdims=True))
        shrink = xp.exp(before - largest)
        u -= largest
        u = xp.exp(u)
        total = total * shrink + xp.sum(u, axis=1, keepdims=True)
        output = output * shrink + xp.matmul(u, v[block, :])
    return output / total


def _attend_rows(xp, q, k, v, kernel, threads=None):
    """Return the outputs of a kernel that must see whole rows of scores."""
    output = xp.empty((q.shape[0], v.shape[1]), dtype=q.dtype, device=device(q))
    name = require_kernel(kernel).name
    balanced = _balanced(xp, (q, 0), (k, 0)) if name in SCALE_FREE and not _in_range(xp, q, k) else None
    for block in _blocks(q.shape[0], min(BLOCK_ROWS, _scores_at_once(xp) // k.shape[0])):
        scores = xp.matmul(q[block, :], xp.matrix_transpose(k))
        if balanced is not None:
            scores = _better(xp, scores, q[block, :], k, (balanced[0][block, :], balanced[1]), name)
        try:
            weights = kernels.weights(scores, kernel)
        except ValueError as error:
            raise ValueError(f"q, k, kernel = {kernel!r}: {error}") from None
        output[block, :] = _weighted(xp, weights, v)
    return output, None


def _better(xp, scores, q, k, balanced, name):
    """Return the rows of scores as they are where they have kept their digits, and in balanced units elsewhere."""
    least = q.shape[1] * xp.finfo(q.dtype).smallest_normal

    def deciding(x):  # the score that decides the weights: only polynomials look at large negative ones
        return xp.max(xp.abs(x) if name == "polynomial" else x, axis=1, keepdims=True)

    def kept(x):
        return xp.all(xp.isfinite(x), axis=1, keepdims=True) & (xp.abs(deciding(x)) >= least)

    fine = kept(scores) | _rows_in_range(xp, q, k)
    other = xp.matmul(balanced[0], xp.matrix_transpose(balanced[1]))
    zero = xp.matmul(xp.astype(q != 0, q.dtype), xp.matrix_transpose(xp.astype(k != 0, q.dtype))) == 0
    lost = ~(fine | kept(other) | xp.all(zero, axis=1, keepdims=True)) & xp.all(
        xp.isfinite(other), axis=1, keepdims=True
    )
    if bool(xp.any(lost)):
        raise ValueError(f"q, k: the scores of a row are spread over more powers of two than {q.dtype} has")
    return xp.where(fine, scores, other)


def _attend_window(xp, q, k, v, kernel, threads=None):
    """Return the outputs of softmax over neighbours: block by block, with the keys that some row of it sees."""
    rows, n, width = q.shape[0], k.shape[0], require_kernel(kernel).parameter
    if rows != n:
        raise ValueError(f"q: {rows} rows, must be {n} as k has for kernel = {kernel!r}")
    output = xp.empty((n, v.shape[1]), dtype=q.dtype, device=device(q))
    place = xp.arange(n, device=device(q))
    width = min(width, n)
    for block in _blocks(n, max(1, min(BLOCK_ROWS, _scores_at_once(xp) // (2 * width + 1)))):
        near = slice(max(0, block.start - width), min(n, block.stop + width))
        scores = xp.matmul(q[block, :], xp.matrix_transpose(k[near, :]))
        far = xp.abs(place[block, None] - place[None, near]) > width
        masked = xp.where(far, xp.full_like(scores, -xp.inf), scores)
        output[block, :] = _weighted(xp, kernels.softmax(masked), v[near, :])
    return output, None


def _weighted(xp, weights, v):
    """Return weights times v, in sums of few keys that are added in pairs."""
    if _fast.serves(xp):
        return _fast.product(weights.T, v, _fast.FLAT_GROUP)
    blocks = _blocks(v.shape[0], BLOCK_KEYS)
    return _sum_over(blocks, lambda block: xp.matmul(weights[:, block], v[block, :]))


def _sum_over(blocks, term):
    """Return the sum of a term for each block, added in pairs."""
    half = len(blocks) // 2
    return _sum_over(blocks[:half], term) + _sum_over(blocks[half:], term) if half else term(blocks[0])


def _attend_relu(xp, q, k, v, kernel, threads=None):
    return _attend_linear(xp, xp.maximum(q, xp.zeros_like(q)), xp.maximum(k, xp.zeros_like(k)), v, kernel, threads)


def _attend_elu(xp, q, k, v, kernel, threads=None):
    """Features x + 1 where x > 0, else exp(x)."""
    for name, x in (("q", q), ("k", k)):
        require_finite(xp, x, name)  # −inf would leave a key out, or not, depending on the others
    parts = [(xp.minimum(x, xp.zeros_like(x)), 1 + xp.maximum(x, xp.zeros_like(x))) for x in (q, k)]
    features = [xp.exp(negative) * factor for negative, factor in parts]
    output, cancelling, safe = _linear(xp, *features, v, threads, exact=False)
    if not safe:
        return _attend_balanced(xp, *(_power_of_e(xp, *part) for part in parts), v, kernel, threads)
    return output, _require_row_sums(cancelling, k, kernel)


def _attend_performer(xp, q, k, v, kernel, threads=None):
    """Features exp(x), of exponents that `_performer_exponents` returns."""
    return _attend_balanced(xp, _power_of_e(xp, q), _power_of_e(xp, k), v, kernel, threads)


def _performer_exponents(xp, q, k, features, rng):
    """Return x·ω_m − ‖x‖²/2 of the rows, whose exponentials are positive random features.

    For the queries ‖x‖²/2 is left out: it is one factor of a row, which cancels in the weights.
    """
    require_generator(rng)
    omega = xp.asarray(rng.standard_normal((q.shape[1], features)), dtype=q.dtype, device=device(q))
    return xp.matmul(q, omega), xp.matmul(k, omega) - xp.sum(k * k, axis=1, keepdims=True) / 2


def _attend_linear(xp, q, k, v, kernel, threads=None):
    """Return the outputs, and the smallest row sum relative to the terms that it is rounded with."""
    output, cancelling, safe = _linear(xp, q, k, v, threads)
    if not safe:
        return _attend_balanced(xp, (q, 0), (k, 0), v, kernel, threads)
    return output, _require_row_sums(cancelling, k, kernel)


def _linear(xp, q, k, v, threads, exact=True):
    if _fast.serves(xp):
        return _fast.linear_attention(q, k, v, threads, exact)
    return _linear_plain(xp, q, k, v, exact)


def _require_row_sums(cancelling, k, kernel):
    """Return the smallest row sum, relative to its terms, or raise a ValueError if it is nothing but rounding."""
    if math.isnan(cancelling):
        raise ValueError("q, k: the result is not finite; they have NaN or inf, or are too large")
    # Additions and products that a term passes through are rounded, each by at most ε of the terms.
    n, d = k.shape
    roundings = min(n, BLOCK_KEYS + n // BLOCK_KEYS) + d
    if cancelling <= min(roundings * common_namespace(k=k).finfo(k.dtype).eps, 0.5):
        raise ValueError(
            f"q, k: a row's weights for kernel = {kernel!r} sum to 0 within rounding (linear attention: alpha_lin = 0)"
        )
    return cancelling


def _linear_plain(xp, q, k, v, exact=True):
    blocks, d, width = _blocks(k.shape[0], BLOCK_KEYS), k.shape[1], v.shape[1]
    sizes = _sum_over(blocks, lambda block: xp.sum(xp.abs(k[block, :]), axis=0))
    total = xp.matmul(q, _sum_over(blocks, lambda block: xp.sum(k[block, :], axis=0))[:, None])
    terms = xp.matmul(xp.abs(q), sizes[:, None])
    cancelling = xp.min(xp.abs(total) / xp.where(terms == 0, xp.ones_like(terms), terms))
    # A row sum of 0 is named by the caller; whatever stands here then is thrown away.
    over = xp.where(total == 0, xp.ones_like(total), total)
    products = _sum_over(blocks, lambda block: xp.matmul(xp.matrix_transpose(k[block, :]), v[block, :]))
    extremes = xp.stack([xp.min(terms), xp.max(terms), cancelling])
    seen = to_numpy(xp.concat([sizes, xp.max(xp.abs(v), axis=0), extremes]))
    terms = seen[-3:-2], seen[-2:-1]
    safe = _fast.keeps_digits(seen[:d], seen[d : d + width], terms, k.shape[0], seen.dtype, exact)
    return xp.matmul(q, products) / over, float(seen[-1]), safe


# Powers of two, where products underflow or overflow: an array stands for m 2^e, with whole numbers e in a float.


def _attend_balanced(xp, q, k, v, kernel, threads):
    """Return the outputs of linear attention of numbers (m, e) whose products may be far below or above all floats."""
    q, k = _balanced(xp, q, k)
    largest = _exponent(xp, xp.max(xp.abs(v), axis=0, keepdims=True))
    output, cancelling, _ = _linear(xp, q, k, _times_power(xp, v, -largest), threads)
    _require_row_sums(cancelling, k, kernel)
    return _times_power(xp, output, xp.where(xp.isfinite(largest), largest, xp.zeros_like(largest))), cancelling


def _balanced(xp, q, k):
    """Return numbers (m, e) in units in which the largest of each column of k and of each row of q is from 1 to 2.

    A column's factor moves from k to q, which changes no product of the two; a row's factor cancels in the weights.
    So every row has a sum of sizes of at least 1, and what falls below the least float does not count in it.
    """
    (mq, eq), (mk, ek) = q, k
    columns = xp.max(_exponent(xp, mk) + ek, axis=0, keepdims=True)
    moved = eq + columns
    rows = xp.max(_exponent(xp, mq) + moved, axis=1, keepdims=True)
    return _times_power(xp, mq, moved - rows), _times_power(xp, mk, ek - columns)


def _power_of_e(xp, x, factor=1):
    """Return factor times exp(x) as (m, e); e is in float64, where that of the largest float32 is a float."""
    bits = xp.astype(x, xp.float64) / math.log(2)
    whole = xp.floor(bits)
    return factor * xp.astype(xp.exp((bits - whole) * math.log(2)), x.dtype), whole


def _exponent(xp, x):
    """Return the whole number e with 2^e ≤ |x| < 2^(e+1), up to rounding; −inf for 0."""
    return xp.floor(xp.log2(xp.abs(xp.astype(x, xp.float64))))


def _times_power(xp, x, exponent):
    """Return x 2^e, in two steps, since 2^e alone may be no float; 0 stays 0, whatever e is."""
    none = (x == 0) | xp.isnan(exponent)
    exponent = xp.where(none, xp.zeros_like(exponent), xp.maximum(exponent, xp.full_like(exponent, -4096.0)))
    half = xp.floor(exponent / 2)
    two = xp.full_like(half, 2.0)
    return x * xp.astype(two**half, x.dtype) * xp.astype(two ** (exponent - half), x.dtype)


def _in_range(xp, q, k):
    return bool(xp.all(_rows_in_range(xp, q, k)))


def _rows_in_range(xp, q, k):
    """Whether no product of a row of q and an entry of k can be subnormal, and no sum of these overflow."""
    numbers = xp.finfo(q.dtype)
    sizes = [xp.abs(x) for x in (q, k)]
    some = [xp.where(x == 0, xp.full_like(x, xp.inf), x) for x in sizes]
    least = xp.min(some[0], axis=1, keepdims=True) * xp.min(some[1])
    most = xp.max(sizes[0], axis=1, keepdims=True) * xp.max(sizes[1]) * q.shape[1]
    return (least >= numbers.smallest_normal) & (most <= numbers.max)


def _scores_at_once(xp):
    return GPU_SCORES if is_cupy_namespace(xp) else BLOCK_SCORES


def _blocks(length, step):
    """Return slices of at most `step` rows that make up all rows."""
    step = max(1, step)
    return [slice(start, min(start + step, length)) for start in range(0, length, step)]


ATTEND = {
    "softmax": _attend_softmax,
    "linear": _attend_linear,
    "elu+1": _attend_elu,
    "relu": _attend_relu,
    "performer": _attend_performer,
    "window": _attend_window,
}


PLAIN = {"softmax": _softmax_plain, "linear": _linear_plain}  # for every array library


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
    one sort.  Unequal rows may have equal sums as well, so every row is compared with the row that stands for it; at
    the first difference the search is given up.  Claim: attention-streams.

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
    blocks = _blocks(q.shape[0], _scores_at_once(xp) // q.shape[1])
    fixed = xp.sin(xp.arange(1, q.shape[1] + 1, dtype=q.dtype, device=device(q)))
    # Not a matrix product, which may round equal rows differently.
    sums = xp.concat([xp.sum(q[block, :] * fixed, axis=1) for block in blocks])
    _, first, place, _ = xp.unique_all(sums)
    if first.shape[0] == q.shape[0]:
        return q, None
    distinct = xp.take(q, first, axis=0)
    same = [xp.all(q[block, :] == xp.take(distinct, place[block], axis=0)) for block in blocks]
    return (distinct, place) if bool(xp.all(xp.stack(same))) else (q, None)


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
        rows, place = (A1, None) if require_kernel(kernel).name == "window" else distinct_rows(A1)
        with quiet():
            if require_kernel(kernel).name in SCALE_FREE and not _in_range(xp, rows, X):
                rows, X = _balanced(xp, (rows, 0), (xp.matrix_transpose(X), 0))
                X = xp.matrix_transpose(X)
            q = xp.matmul(rows, X)
        output = attend(q, A2, A3, kernel=kernel, rng=rng)
    except (ValueError, TypeError) as error:  # which speaks of q, k and v
        raise type(error)(f"A1, A2, A3, X: {error}") from None
    return output if place is None else xp.take(output, place, axis=0)
