"""Scores, without the Kronecker matrix that the paper's notation writes."""

from attnsep.arrays import common_namespace, require_shape


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
        If the shapes do not fit or the arrays' libraries, devices or dtypes do not.

    Examples
    --------
    >>> import numpy as np
    >>> query_scores(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 1.0]))
    array([3., 7.])
    """
    xp = common_namespace(A=A, x=x)
    require_shape("A", A, ("n", "d"))
    require_shape("x", x, (A.shape[1],))
    return xp.matmul(A, x)


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
    >>> A = np.array([[1, 2], [3, 4]])
    >>> row_scores(A, A, np.array([[0, 1], [0, 0]]))
    array([[ 2,  4],
           [ 6, 12]])
    """
    xp = common_namespace(A1=A1, A2=A2, X=X)
    require_shape("A1", A1, ("n", "d"))
    require_shape("A2", A2, tuple(A1.shape))
    require_shape("X", X, (A1.shape[1], A1.shape[1]))
    return xp.matmul(xp.matmul(A1, X), xp.matrix_transpose(A2))
