"""Leading axes and the scale: every set of queries by itself, every score times one number."""

from fractions import Fraction

import numpy as np
import pytest

from attnsep.arrays import to_numpy
from attnsep.attention import _streams
from attnsep.attention.attend import attend
from attnsep.attention.kernels import KERNELS, OfScores, Softmax, require_kernel, weights


def text_of(name):
    return f"{name}:2" if KERNELS[name].usage().startswith(f"{name}:") else name


TEXTS = [text_of(name) for name in KERNELS]
SHAPES = [  # leading axes of q, k and v, and of all three
    ((), (), (), ()),
    ((3,), (3,), (3,), (3,)),
    ((2, 3), (2, 3), (2, 3), (2, 3)),
    ((2, 1), (3,), (1, 3), (2, 3)),
    ((), (3,), (), (3,)),
    ((), (), (2, 2), (2, 2)),
    ((2, 3), (), (1,), (2, 3)),
    ((3,), (1, 1), (), (1, 3)),
    ((), (1, 1), (1,), (1, 1)),
]


def drawn(rng, shapes, rows=4, n=4, dtype=float):
    last = ((rows, 3), (n, 3), (n, 2))
    return [rng.uniform(0.1, 1, (*axes, *end)).astype(dtype) for axes, end in zip(shapes, last, strict=True)]


def one_by_one(q, k, v, axes, **options):
    q, k, v = (np.broadcast_to(x, (*axes, *x.shape[-2:])) for x in (q, k, v))
    output = np.empty((*axes, q.shape[-2], v.shape[-1]), q.dtype)
    for at in np.ndindex(*axes):
        rng = {"rng": np.random.default_rng(5)} if options["kernel"].startswith("performer") else {}
        output[at] = attend(q[at], k[at], v[at], **options, **rng)
    return output


@pytest.mark.quartered
@pytest.mark.parametrize("kernel", TEXTS)
@pytest.mark.parametrize(("a", "b", "c", "axes"), SHAPES)
def test_every_set_is_attended_to_by_itself(xp, rng, kernel, a, b, c, axes):
    """The features of performer are drawn once for all of them."""
    q, k, v = drawn(rng, (a, b, c))
    features = {"rng": np.random.default_rng(5)} if kernel.startswith("performer") else {}
    found = attend(*map(xp.asarray, (q, k, v)), kernel=kernel, **features)
    assert found.shape == (*axes, 4, 2)
    np.testing.assert_allclose(to_numpy(found), one_by_one(q, k, v, axes, kernel=kernel), rtol=1e-12)


@pytest.mark.parametrize("kernel", ["softmax", "linear", "topk:2", "elu+1"])
@pytest.mark.parametrize("unique", [None, False, True])
def test_sets_keep_their_dtype_and_may_have_equal_rows(xp, rng, kernel, unique):
    q, k, v = drawn(rng, ((2,), (2,), (2,)), rows=5, n=7, dtype="float32")
    q[:, 3] = q[:, 1]
    found = attend(*map(xp.asarray, (q, k, v)), kernel=kernel, unique=unique)
    assert found.dtype == xp.float32
    wanted = one_by_one(*(x.astype(float) for x in (q, k, v)), (2,), kernel=kernel)
    np.testing.assert_allclose(to_numpy(found), wanted, rtol=1e-5)


@pytest.mark.parametrize("axes", [(), (2,)])
def test_values_without_columns_give_outputs_without_columns(axes):
    x = np.ones((*axes, 300, 2))  # whole groups, and some rows beyond them
    for kernel in ("softmax", "linear"):
        assert attend(x, x, x[..., :0], kernel=kernel).shape == (*axes, 300, 0)


def test_transposed_and_broadcast_arrays_are_read_as_they_are(xp, rng):
    x = rng.standard_normal((2, 6, 4, 3))  # tokens before heads, as a projection leaves them
    heads = xp.permute_dims(xp.asarray(x), (0, 2, 1, 3))
    wanted = one_by_one(*[np.swapaxes(x, 1, 2)] * 3, (2, 4), kernel="softmax")
    np.testing.assert_allclose(to_numpy(attend(heads, heads, heads)), wanted, rtol=1e-12)
    wide = xp.broadcast_to(xp.asarray(x[0, 0]), (5, 4, 3))
    np.testing.assert_allclose(to_numpy(attend(wide, wide, wide))[4], attend(*[x[0, 0]] * 3), rtol=1e-13)


def test_equal_rows_of_sets_are_looked_for_only_where_asked(rng, monkeypatch):
    seen, whole = [], _streams.softmax
    monkeypatch.setattr(_streams, "softmax", lambda xp, q, *rest: seen.append(q.shape[0]) or whole(xp, q, *rest))
    q, k, v = drawn(rng, ((2,), (2,), (2,)))
    q[:] = q[0, 0]
    for unique, rows in ((None, [4, 4]), (True, [1, 1])):
        attend(q, k, v, unique=unique)
        assert seen == rows
        seen.clear()
    for unique, rows in ((None, [8]), (True, [1])):  # one set of keys: all queries are one set of rows
        attend(q, k[0], v[0], unique=unique)
        assert seen == rows
        seen.clear()
    attend(q[0], k[0], v[0])
    assert seen == [1]


def test_the_cancellation_is_that_of_the_smallest_row_of_all_sets(xp):
    q, k = np.ones((3, 1, 1)), np.array([[[1.0], [1.0]], [[1.0], [-0.5]], [[1.0], [0.5]]])
    for scale in (1, 7):
        _, found = attend(*map(xp.asarray, (q, k, k)), kernel="linear", cancellation=True, scale=scale)
        assert found == pytest.approx(1 / 3, rel=1e-14)
    k[2, 1] = -1
    with pytest.raises(ValueError, match=r"q, k: a row's weights for kernel = 'linear' sum to 0"):
        attend(*map(xp.asarray, (q, k, k)), kernel="linear")


@pytest.mark.parametrize(
    "kernel", [text_of(name) for name, kernel in KERNELS.items() if issubclass(kernel, OfScores) and name != "topk"]
)
@pytest.mark.parametrize("scale", [1, 0.25, "0.3", Fraction(7, 3), np.float32(2)])
def test_the_scale_multiplies_scores(xp, rng, kernel, scale):
    q, k, v = drawn(rng, ((), (), ()))
    found = attend(*map(xp.asarray, (q, k, v)), kernel=kernel, scale=scale)
    number = float(Fraction(scale) if isinstance(scale, str) else scale)
    np.testing.assert_allclose(to_numpy(found), weights(number * (q @ k.T), kernel) @ v, rtol=1e-12)


def test_beta_is_a_scale(xp, rng):
    q, k, v = (xp.asarray(x) for x in drawn(rng, ((2,), (2,), (2,))))
    wanted = to_numpy(attend(q, k, v, scale=6))
    for kernel, scale in (("softmax:6", 1.0), (Softmax(beta=2), 3), ("softmax:1e290", "6e-290"), ("softmax:12", 0.5)):
        np.testing.assert_allclose(to_numpy(attend(q, k, v, kernel=kernel, scale=scale)), wanted, rtol=1e-14)


@pytest.mark.parametrize("kernel", ["elu+1", "relu", "window:1", "performer:4"])
def test_the_scale_multiplies_queries_before_a_feature_map(rng, kernel):
    q, k, v = drawn(rng, ((), (), ()))
    q[:, 0] -= 1
    one, two = ({"rng": np.random.default_rng(5)} if kernel == "performer:4" else {} for _ in range(2))
    wanted = attend(2 * q, k, v, kernel=kernel, **one)
    np.testing.assert_allclose(attend(q, k, v, kernel=kernel, scale=2, **two), wanted, rtol=1e-14)


@pytest.mark.parametrize("kernel", ["linear", "hard", "relu", "squared-relu", "polynomial:3"])
@pytest.mark.parametrize("scale", [1e-300, "1e-900", 1e300])
def test_a_scale_that_cancels_takes_no_digits(rng, kernel, scale):
    q, k, v = drawn(rng, ((), (), ()))
    found = attend(1e-20 * q, k, v, kernel=kernel, scale=scale)
    np.testing.assert_allclose(found, attend(q, k, v, kernel=kernel), rtol=1e-13)


@pytest.mark.parametrize("kernel", ["linear", "relu"])
def test_columns_of_values_may_be_of_any_sizes_where_products_underflow(xp, kernel):
    tiny, v = (np.full((n, 1), 1e-200) for n in (1, 2)), np.array([[1e-250, 0, 1e250]] * 2)
    found = attend(*map(xp.asarray, (*tiny, v)), kernel=kernel)
    np.testing.assert_allclose(to_numpy(found), v[:1], rtol=1e-14)


def test_a_scale_of_zero_makes_all_scores_equal(rng):
    q, k, v = drawn(rng, ((), (), ()))
    for kernel in ("softmax", "hard", "sparsemax", "sigmoid"):
        np.testing.assert_allclose(attend(q, k, v, kernel=kernel, scale=0), np.tile(v.mean(0), (4, 1)), rtol=1e-14)
    with pytest.raises(ValueError, match="alpha_lin = 0"):
        attend(q, k, v, kernel="linear", scale=0)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda o: attend(o[None], o, o, scale=-1), ValueError, "scale = -1: must be at least 0"),
        (lambda o: attend(o, o, o, scale=np.nan), ValueError, "scale = nan: must be a finite number"),
        (lambda o: attend(o, o, o, scale=True), TypeError, "scale = True: must be a real number"),
        (lambda o: attend(o, o, o, scale=None), TypeError, "scale = None: must be a real number"),
        (lambda o: attend(o[None], o[[0, 1]][:, None], o), ValueError, r"k: shape \(2, 1, 2\), must be .*v: |v: shape"),
        (
            lambda o: attend(o[None].repeat(2, 0), o[None].repeat(3, 0), o),
            ValueError,
            r"q, k, v: leading axes \(2,\), ",
        ),
        (lambda o: attend(o[None], o[None, :, :1], o), ValueError, r"k: shape \(1, 3, 1\), must be \(\.\.\., n, 2\)"),
        (lambda o: attend(o[None], o, o[None, :2]), ValueError, r"v: shape \(1, 2, 2\), must be \(\.\.\., 3, width\)"),
        (lambda o: attend(o[0], o[None], o), ValueError, r"q: shape \(2,\), must be \(rows, d\)"),
        (lambda o: attend(o[None][:0], o, o), ValueError, r"q: shape \(0, 3, 2\), must have at least one row"),
        (lambda o: attend(o, o, o[None][:0]), ValueError, r"v: shape \(0, 3, 2\), must have at least one row"),
        (lambda o: attend(o[None, :2], o, o, kernel="window:1"), ValueError, "q: 2 rows, must be 3 as k has"),
        (lambda o: attend(o[None], o, o, cancellation=True), ValueError, "cancellation = True: only kernel = 'linear'"),
        (lambda o: attend(o[None], o, o * np.nan), ValueError, "q, k, v: the result is not finite"),
        (
            lambda o: attend(o, o, o, kernel="performer:4", rng=7),
            TypeError,
            "rng = 7: must be a numpy.random.Generator",
        ),
        (lambda o: attend(o * np.inf, o, o, kernel="elu+1"), ValueError, "^q: the result is not finite"),
        (lambda o: attend(o, o * -np.inf, o, kernel="elu+1"), ValueError, "^k: the result is not finite"),
        (
            lambda o: attend(o, -o, o, kernel="squared-relu"),
            ValueError,
            "^q, k, kernel = 'squared-relu': scores: a row",
        ),
        (lambda o: attend(o[None], o, o, kernel=len), TypeError, "kernel = .*: must be a kernel or a string"),
        (lambda o: attend(o[None], o, o, kernel=Softmax), TypeError, "kernel = .*: must be a kernel or a string"),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call(np.ones((3, 2)))


@pytest.mark.parametrize("kernel", TEXTS)
def test_weights_of_rows_are_those_that_attend_uses(xp, rng, kernel):
    """The two protocols: of scores, and of rows and places."""
    q, k, v = drawn(rng, ((), (), ()))
    made, arrays = require_kernel(kernel), [xp.asarray(x) for x in (q, k, v)]
    if made.random:
        with pytest.raises(ValueError, match=f"kernel = '{kernel}': q, k: the weights are random"):
            made.weights(*arrays[:2])
        return
    f = made.weights(xp.asarray(q @ k.T)) if isinstance(made, OfScores) else made.weights(*arrays[:2])
    single = [xp.astype(x, xp.float32) for x in (xp.asarray(q @ k.T), *arrays[:2])]
    assert (made.weights(*single[:1]) if isinstance(made, OfScores) else made.weights(*single[1:])).dtype == xp.float32
    np.testing.assert_allclose(to_numpy(f) @ v, to_numpy(attend(*arrays, kernel=made)), rtol=1e-12)
