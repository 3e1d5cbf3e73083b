"""One transformer block whose attention can be exchanged, in array-API names alone, so that NumPy and JAX run it."""

import math
from contextlib import contextmanager
from contextvars import ContextVar

from array_api_compat import array_namespace

from attnsep.attention.kernels import Kernel
from attnsep.checks import require_choice, require_generator, require_integer

UNNORMALISED = "linear, not normalised"
KERNELS = ("softmax", "linear", "elu+1", "taylor", UNNORMALISED)
_NOTES = ContextVar("notes", default=None)
BLOCKS = ("full", "bare")


def require_learn_kernel(kernel):
    """Return the name of a kernel if a model can be trained with it, or raise a ValueError.

    Examples
    --------
    >>> require_learn_kernel("hard")
    Traceback (most recent call last):
    ...
    ValueError: kernel = 'hard': must be one of softmax, linear, elu+1, taylor, 'linear, not normalised'
    """
    return require_choice("kernel", str(kernel) if isinstance(kernel, Kernel) else kernel, KERNELS)


def weights(q, k, kernel, keep=None):
    """Attention weights of batches of queries and keys.

    Parameters
    ----------
    q : array, shape (..., rows, d)
        Queries.
    k : array, shape (..., n, d)
        Keys.
    kernel : str
        One of `KERNELS`.
    keep : array of bool, optional
        True where a row may look, of a shape that broadcasts to (..., rows, n).

    Returns
    -------
    array, shape (..., rows, n)
        Rows sum to 1, but for linear attention that is not normalised; those of linear attention may have negative
        entries.

    Raises
    ------
    ValueError
        If the kernel is another one.

    Notes
    -----
    With the scores v_i = ⟨q, k_i⟩/√d: softmax is e^{v_i} over its sum, linear v_i over its sum, taylor
    1 + v_i + v_i²/2 over its sum, and linear without normalisation v_i itself.  elu+1: ⟨ψ(q), ψ(k_i)⟩ over its sum,
    ψ(x) = x + 1 above 0 and e^x below.  But for the one that is not normalised, the same numbers as
    ``attnsep.attention.attend.attend``, for batches.  Not checked: a sum of 0 in linear attention gives inf or NaN,
    because a function that is traced cannot raise; training notices it.

    Examples
    --------
    >>> import numpy as np
    >>> weights(np.array([[2.0]]), np.array([[1.0], [3.0]]), "linear")
    array([[0.25, 0.75]])
    """
    xp = array_namespace(q, k)
    if (kernel := require_learn_kernel(kernel)) == "elu+1":
        q, k = (xp.where(x > 0, x + 1, xp.exp(xp.minimum(x, xp.zeros_like(x)))) for x in (q, k))
    u = xp.matmul(q, xp.matrix_transpose(k))
    if kernel in ("softmax", "taylor", UNNORMALISED):  # in the others a factor cancels
        u = u / math.sqrt(q.shape[-1])
    if kernel == "softmax":
        u = u if keep is None else xp.where(keep, u, -xp.inf)
        u = xp.exp(u - xp.max(u, axis=-1, keepdims=True))
    elif kernel == "taylor":
        u = 1 + u + u * u / 2
    if keep is not None:
        u = xp.where(keep, u, xp.zeros_like(u))
    if (notes := _NOTES.get()) is not None:
        notes.append(u)
    return u if kernel == UNNORMALISED else u / xp.sum(u, axis=-1, keepdims=True)


@contextmanager
def noting():
    """Give a list to which `weights` adds, at each call inside, its rows before they are normalised.

    Examples
    --------
    >>> import numpy as np
    >>> with noting() as notes:
    ...     f = weights(np.array([[2.0]]), np.array([[1.0], [3.0]]), "linear")
    >>> notes
    [array([[2., 6.]])]
    """
    token = _NOTES.set(notes := [])
    try:
        yield notes
    finally:
        _NOTES.reset(token)


def normaliser_margin(u):
    """Smallest size of a row sum beside the sum of sizes: 1 where all entries have one sign, 0 where they cancel.

    Parameters
    ----------
    u : array, shape (..., n)
        Rows before they are normalised, as from `noting`.

    Returns
    -------
    array, shape ()
        min over the rows of abs(Σ u)/Σ abs(u).

    Examples
    --------
    >>> import numpy as np
    >>> float(normaliser_margin(np.array([[1.0, 1.0], [3.0, -1.0]])))
    0.5
    """
    xp = array_namespace(u)
    return xp.min(xp.abs(xp.sum(u, axis=-1)) / xp.sum(xp.abs(u), axis=-1))


def concentration(u):
    """How concentrated the rows are: the mean of their entropies, and of their largest shares.

    Parameters
    ----------
    u : array, shape (..., n)
        Rows before they are normalised, as from `noting`.

    Returns
    -------
    entropy, largest : array, shape ()
        With the shares s = abs(u)/Σ abs(u) of a row: the mean over rows of −Σ s log s, in nats, and of max s.

    Examples
    --------
    >>> import numpy as np
    >>> [float(x.round(4)) for x in concentration(np.array([[1.0, 0.0], [1.0, -1.0]]))]  # (0 + log 2)/2, (1 + 1/2)/2
    [0.3466, 0.75]
    """
    xp = array_namespace(u)
    share = xp.abs(u) / xp.sum(xp.abs(u), axis=-1, keepdims=True)
    surprise = -xp.log(xp.where(share > 0, share, xp.ones_like(share)))
    return xp.mean(xp.sum(share * surprise, axis=-1)), xp.mean(xp.max(share, axis=-1))


def block(p, x, kernel, keep=None, asked=None):
    """One transformer block: attention, then a ReLU layer in every row.

    Parameters
    ----------
    p : dict of array
        ``q`` and ``k`` (d, width), ``v`` (d, d), ``up`` (d, hidden), ``bias`` (hidden,), ``down`` (hidden, d); in a
        full block also the norms' scales ``before`` and ``between``, both (d,).
    x : array, shape (batch, n, d)
        Tokens.
    kernel, keep
        As in `weights`.
    asked : array of int, shape (batch, rows), optional
        The rows that are wanted; left out, all of them.

    Returns
    -------
    array, shape (batch, n, d), or (batch, rows, d) where rows are asked for

    Notes
    -----
    Full: x + attention(norm(x)), then the same with the ReLU layer.  Bare: the ReLU layer sees nothing but the
    attention's output, as in the main theorem.  norm(x) is x over the root of its mean square, times a scale.
    Extension.

    Examples
    --------
    >>> import numpy as np
    >>> p = initial_block(np.random.default_rng(1), d=4, width=2, hidden=8, kind="bare")
    >>> block(p, np.ones((2, 3, 4)), "softmax").shape
    (2, 3, 4)
    """
    xp = array_namespace(x)
    full = "before" in p
    seen = _norm(xp, x, p["before"]) if full else x
    some = seen
    if asked is not None:
        x, some = (xp.take_along_axis(rows, asked[:, :, None], axis=1) for rows in (x, seen))
    # In this order, on which XLA's last digits depend: the stored rows were made with it.
    q, k, v = xp.matmul(some, p["q"]), xp.matmul(seen, p["k"]), xp.matmul(seen, p["v"])
    mixed = xp.matmul(weights(q, k, kernel, keep), v)
    x = x + mixed if full else mixed
    hidden = xp.matmul(_norm(xp, x, p["between"]) if full else x, p["up"]) + p["bias"]
    hidden = xp.matmul(xp.maximum(hidden, xp.zeros_like(hidden)), p["down"])
    return x + hidden if full else hidden


def _norm(xp, x, scale):
    return x / xp.sqrt(xp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * scale


def initial_block(rng, *, d, width, hidden, kind="full"):
    """Draw a block's parameters.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of the draws.
    d, width, hidden : int
        Width of the tokens, of queries and keys, and of the ReLU layer, each at least 1.
    kind : str
        full or bare.

    Returns
    -------
    dict of numpy.ndarray
        float32, as `block` takes it.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules.

    Notes
    -----
    Matrices are Gaussian with variance 1/rows, biases 0, scales 1.

    Examples
    --------
    >>> import numpy as np
    >>> sorted(initial_block(np.random.default_rng(1), d=4, width=2, hidden=8, kind="bare"))
    ['bias', 'down', 'k', 'q', 'up', 'v']
    """
    import numpy as np

    require_generator(rng)
    d, width, hidden = (
        require_integer(name, size, least=1, most=10**4)
        for name, size in (("d", d), ("width", width), ("hidden", hidden))
    )
    shapes = {"q": (d, width), "k": (d, width), "v": (d, d), "up": (d, hidden), "down": (hidden, d)}
    p = {name: gaussian(rng, *shape) for name, shape in shapes.items()}
    p["bias"] = np.zeros(hidden, np.float32)
    if require_choice("kind", kind, BLOCKS) == "full":
        p |= {name: np.ones(d, np.float32) for name in ("before", "between")}
    return p


def gaussian(rng, rows, columns):
    """Draw a float32 matrix of independent Gaussians with variance 1/rows.

    Examples
    --------
    >>> import numpy as np
    >>> round(float(gaussian(np.random.default_rng(1), 10000, 1).std()), 3)
    0.01
    """
    import numpy as np

    require_generator(rng)
    rows, columns = (
        require_integer(name, x, least=1, most=10**5) for name, x in (("rows", rows), ("columns", columns))
    )
    return (rng.standard_normal((rows, columns)) / math.sqrt(rows)).astype(np.float32)
