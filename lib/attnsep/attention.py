"""Scores and attention, without the Kronecker matrix that the paper's notation writes and without all n² weights."""

from array_api_compat import device, is_cupy_namespace

from attnsep import _fast, kernels
from attnsep.arrays import common_namespace, quiet, require_finite, require_floating, require_shape, text_of
from attnsep.data import require_generator, require_integer
from attnsep.spec import require_kernel

BLOCK_ROWS, BLOCK_SCORES = 512, 2**17  # 1 MiB of float64 scores at a time stay in the cache
GPU_SCORES = 2**23  # so that a GPU is not handed a few rows at a time where n is large
BLOCK_KEYS = 1024  # a sum over more keys at once would round equal terms in one direction


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
    the same with mapped rows.  Window: softmax over the tokens at most `width` places away.  All others: whole rows of
    scores, as many at a time as fit into one block, at least one.
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
            rows, k = _performer_features(xp, rows, k, parameter, rng)
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
    beta = float(require_kernel(kernel).parameter)
    q = q if beta == 1 else q * beta
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
    for block in _blocks(q.shape[0], min(BLOCK_ROWS, _scores_at_once(xp) // k.shape[0])):
        scores = xp.matmul(q[block, :], xp.matrix_transpose(k))
        try:
            weights = kernels.weights(scores, kernel)
        except ValueError as error:
            raise ValueError(f"q, k, kernel = {kernel!r}: {error}") from None
        output[block, :] = xp.matmul(weights, v)
    return output, None


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
        output[block, :] = xp.matmul(kernels.softmax(masked), v[near, :])
    return output, None


def _attend_elu(xp, q, k, v, kernel, threads=None):
    return _attend_linear(xp, _elu_plus_one(xp, q), _elu_plus_one(xp, k), v, kernel, threads)


def _attend_relu(xp, q, k, v, kernel, threads=None):
    return _attend_linear(xp, xp.maximum(q, xp.zeros_like(q)), xp.maximum(k, xp.zeros_like(k)), v, kernel, threads)


def _elu_plus_one(xp, x):
    """Return x + 1 where x > 0, else exp(x)."""
    zero = xp.zeros_like(x)
    return xp.maximum(x, zero) + xp.exp(xp.minimum(x, zero))


def _performer_features(xp, q, k, features, rng):
    """Return positive random features of the rows, exp(x·ω_m − ‖x‖²/2), up to a factor per query and one for all keys.

    The factors cancel in the weights and keep the largest feature at 1.
    """
    require_generator(rng)
    omega = xp.asarray(rng.standard_normal((q.shape[1], features)), dtype=q.dtype, device=device(q))
    logs = [xp.matmul(x, omega) - xp.sum(x * x, axis=1, keepdims=True) / 2 for x in (q, k)]
    return xp.exp(logs[0] - xp.max(logs[0], axis=1, keepdims=True)), xp.exp(logs[1] - xp.max(logs[1]))


def _attend_linear(xp, q, k, v, kernel, threads=None):
    """Return the outputs, and the smallest row sum relative to the terms that it is rounded with."""
    fast = _fast.serves(xp)
    output, cancelling = _fast.linear_attention(q, k, v, threads) if fast else _linear_plain(xp, q, k, v)
    require_finite(xp, xp.asarray(cancelling), "q, k")  # a row sum that overflows would make the output 0
    # n additions and d products are rounded, each by at most ε of the terms.
    if float(cancelling) <= min((k.shape[0] + k.shape[1]) * xp.finfo(q.dtype).eps, 0.5):
        raise ValueError(
            f"q, k: a row's weights for kernel = {kernel!r} sum to 0 within rounding (linear attention: alpha_lin = 0)"
        )
    return output, cancelling


def _linear_plain(xp, q, k, v):
    blocks = _blocks(k.shape[0], BLOCK_KEYS)
    total = xp.matmul(q, sum(xp.sum(k[block, :], axis=0) for block in blocks)[:, None])
    terms = xp.matmul(xp.abs(q), sum(xp.sum(xp.abs(k[block, :]), axis=0) for block in blocks)[:, None])
    cancelling = xp.min(xp.abs(total) / xp.where(terms == 0, xp.ones_like(terms), terms))
    # A row sum of 0 is named by the caller; whatever stands here then is thrown away.
    safe = xp.where(total == 0, xp.ones_like(total), total)
    products = sum(xp.matmul(xp.matrix_transpose(k[block, :]), v[block, :]) for block in blocks)
    return xp.matmul(q, products) / safe, cancelling


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
    "performer": _attend_linear,
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
    """Attention output c_j of every token.

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
        Row j is c_j = A3ᵀ f_j.

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
            q = xp.matmul(rows, X)
        output = attend(q, A2, A3, kernel=kernel, rng=rng)
    except (ValueError, TypeError) as error:  # which speaks of q, k and v
        raise type(error)(f"A1, A2, A3, X: {error}") from None
    return output if place is None else xp.take(output, place, axis=0)
