import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from attnsep.arrays import to_numpy
from attnsep.checks import (
    listed,
    require_decimal,
    require_finite,
    require_floating,
    require_instance,
    require_integer,
    require_items,
    require_plain,
    require_probability,
    require_real,
    require_size,
    shown_integer,
)
from attnsep.paper.one_query import QueryData
from attnsep.paper.tokens import TokenData

pytestmark = pytest.mark.usefixtures("nothing_set")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n": 1}, "n = 1: must be at least 2"),
        ({"n": 2, "d": 0}, "d = 0: must be at least 1"),
        ({"n": 2, "position": 2}, "position = 2: must be below n = 2"),
        ({"n": 2, "position": -1}, "position = -1: must be at least 0"),
        ({"n": 2, "low": 0.0}, "low = 0.0: must be finite and above 0"),
        ({"n": 2, "low": -1.0}, "low = -1.0: must be finite and above 0"),
        ({"n": 2, "high": math.inf}, "high = inf: must be finite and above 0"),
        ({"n": 2, "high": math.nan}, "high = nan: must be finite and above 0"),
        ({"n": 2, "low": 2.0, "high": 1.0}, "low = 2.0, high = 1.0: must satisfy low <= high"),
        ({"n": 2, "spike": 0.0}, "spike = 0.0: must be finite and above 0"),
        ({"n": 2, "high": 10**400}, r"high = 10* … 0* \(401 characters\): must be finite and above 0"),
        ({"n": 10, "spike": 1e308}, r"spike = 1e\+308: spike \* log n must be finite"),
    ],
)
def test_values_that_break_a_rule(parameters, message):
    with pytest.raises(ValueError, match=message):
        QueryData(**parameters)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n": 2.0}, "n = 2.0: must be an integer"),
        ({"n": True}, "n = True: must be an integer"),
        ({"n": "8"}, "n = '8': must be an integer"),
        ({"n": 2, "low": "1"}, "low = '1': must be a real number"),
        ({"n": 2, "low": True}, "low = True: must be a real number"),
        ({"n": 2, "spike": 1j}, "spike = 1j: must be a real number"),
    ],
)
def test_types_that_break_a_rule(parameters, message):
    with pytest.raises(TypeError, match=message):
        QueryData(**parameters)


def test_borders_are_allowed():
    data = QueryData(n=np.int64(2), low=1.0, high=1.0, spike=1e-9, position=1, d=1)
    assert data.spike_score == pytest.approx(1e-9 * math.log(2))


@pytest.mark.parametrize("spike", [None, 2.0])
@pytest.mark.parametrize("position", [0, 3, 6])
@pytest.mark.parametrize("fill", ["uniform", "low", "high", "one-low", "one-high"])
def test_scores_lie_in_the_data_set(rng, spike, position, fill):
    data = QueryData(n=7, low=0.5, high=1.5, spike=spike, position=position)
    v = data.scores(rng, fill=fill)
    ordinary = np.delete(v, position) if spike else v
    assert np.all((ordinary >= 0.5) & (ordinary <= 1.5))
    if spike:
        assert v[position] == 2.0 * math.log(7)
    different = {"low": (0, 7), "high": (7, 0), "one-low": (6, 1), "one-high": (1, 6)}
    if fill in different and not spike:
        assert (int(np.sum(v == 1.5)), int(np.sum(v == 0.5))) == different[fill]


def test_one_low_and_one_high_keep_their_odd_token_beside_a_spike_at_the_end():
    v = QueryData(n=3, low=1.0, high=2.0, spike=5.0, position=2).scores(None, fill="one-high")
    assert v[:2].tolist() == [1.0, 2.0]


def test_uniform_scores_use_the_whole_range(rng):
    v = QueryData(n=1000, low=1.0, high=2.0).scores(rng)
    assert v.min() < 1.02
    assert v.max() > 1.98


def test_whole_numbers_and_fractions_become_floats():
    v = QueryData(n=3, low=1, high=Fraction(3, 2), spike=2.5).scores(None, fill="low")
    assert v.tolist() == [2.5 * math.log(3), 1.0, 1.0]


@pytest.mark.parametrize("rng", [None, 5, np.random.RandomState(0)])
def test_draws_need_a_generator(rng):
    with pytest.raises(TypeError, match=r"rng = .*: must be a numpy\.random\.Generator"):
        QueryData(n=2).scores(rng)
    with pytest.raises(TypeError, match=r"rng = .*: must be a numpy\.random\.Generator"):
        QueryData(n=2).matrix(rng, scores=np.ones(2))


@pytest.mark.parametrize("scores", [[1.0, 2.0], np.array([1j, 1.0]), np.array(["a", "b"])])
def test_matrix_needs_real_scores(rng, scores):
    with pytest.raises(TypeError, match=r"scores = .*must be a real"):
        QueryData(n=2).matrix(rng, scores=scores)


def test_unknown_fill():
    with pytest.raises(ValueError, match="fill = 'middle': must be one of uniform"):
        QueryData(n=2).scores(None, fill="middle")


@pytest.mark.parametrize("d", [1, 2, 8])
def test_matrix_has_the_wanted_product_and_full_rank(xp, rng, d):
    data = QueryData(n=50, spike=3.0, position=49, d=d)
    v = data.scores(rng)
    A, x = data.matrix(rng, scores=v, xp=xp)
    assert A.shape == (50, d)
    assert x.shape == (d,)
    assert np.linalg.matrix_rank(to_numpy(A)) == d
    np.testing.assert_allclose(to_numpy(xp.matmul(A, x)), v, rtol=1e-13)


def test_matrix_draws_scores_of_its_own(rng):
    data = QueryData(n=20, low=0.5, high=1.5)
    A, x = data.matrix(rng)
    assert np.all((A @ x > 0.5 - 1e-12) & (A @ x < 1.5 + 1e-12))
    A, x = data.matrix(np.random.default_rng(5))
    np.testing.assert_allclose(A @ x, data.scores(np.random.default_rng(5)), rtol=1e-13)


@pytest.mark.parametrize(("scores", "message"), [(np.ones(3), r"shape \(3,\)"), (np.array([1.0, np.nan]), "finite")])
def test_matrix_rejects_scores_that_it_cannot_have(rng, scores, message):
    with pytest.raises(ValueError, match=f"scores: .*{message}"):
        QueryData(n=2).matrix(rng, scores=scores)


# Token data


GOOD = {"n": 6, "d": 5, "a": 0.7, "c": 0.5}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n": 1, "d": 3}, "n = 1: must be at least 2"),
        ({"d": 2}, "d = 2: must be at least 3"),
        ({"n": 7}, r"n = 7, d = 5: n must be \(d - 2\)t, a multiple of 3"),
        ({"n": 2}, r"n = 2, d = 5: n must be \(d - 2\)t"),
        ({"a": -0.1}, "a = -0.1: must be at least 0"),
        ({"a": math.nan}, "a = nan: must be a finite number"),
        ({"a": math.inf}, "a = inf: must be a finite number"),
        ({"a": "1/0"}, "a = '1/0': must be a finite number"),
        ({"a": "much"}, "a = 'much': must be a finite number or a decimal string"),
        ({"c": 0}, "c = 0: must lie strictly between 0 and 1"),
        ({"c": "1.0"}, "c = '1.0': must lie strictly between 0 and 1"),
        ({"c": -0.5}, "c = -0.5: must be at least 0"),
        ({"marked": 6}, "marked = 6: must be below n = 6"),
        ({"marked": -1}, "marked = -1: must be at least 0"),
        ({"gap": -1}, "gap = -1: must be at least 0"),
    ],
)
def test_token_data_that_breaks_a_rule(parameters, message):
    with pytest.raises(ValueError, match=message):
        TokenData(**(GOOD | parameters))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n": 6.0}, "n = 6.0: must be an integer"),
        ({"d": "5"}, "d = '5': must be an integer"),
        ({"marked": True}, "marked = True: must be an integer"),
        ({"a": True}, "a = True: must be a real number"),
        ({"a": None}, "a = None: must be a real number"),
        ({"c": 0.5j}, "c = 0.5j: must be a real number"),
    ],
)
def test_token_data_of_the_wrong_type(parameters, message):
    with pytest.raises(TypeError, match=message):
        TokenData(**(GOOD | parameters))


@pytest.mark.parametrize(
    "value", [0.7, "0.7", "7/10", "7e-1", Decimal("0.7"), Fraction(7, 10), np.float64(0.7), np.float32(0.7)]
)
def test_numbers_are_the_decimals_that_they_print(value):
    assert require_decimal("a", value) == Fraction(7, 10)
    assert TokenData(**(GOOD | {"a": value})) == TokenData(**GOOD)


def test_token_data_at_its_borders():
    data = TokenData(n=np.int64(2), d=np.int64(3), a=0, c="0.001", marked=np.int64(1), gap=0)
    assert (data.t, data.b, data.marked_class, data.tau) == (2, Fraction(999, 1000), 0, 0.001 * math.sqrt(math.log(2)))
    assert TokenData(n=10**300, d=1002, a=0.7, c=0.5).log_n == pytest.approx(300 * math.log(10), rel=1e-15)


@pytest.mark.parametrize(("n", "d", "marked"), [(2, 3, 1), (3, 5, 2), (6, 5, 4), (40, 10, 17)])
def test_token_matrix_entry_by_entry(xp, n, d, marked):
    data, root = TokenData(n=n, d=d, a=0.7, c="0.4", marked=marked), math.sqrt(math.log(n))
    A = data.matrix(xp)
    assert A.dtype == xp.float64
    wanted = np.zeros((n, d))
    for i in range(n):
        wanted[i, 1 + i % (d - 2)] = 0.6 * root
        wanted[i, d - 1] = 0.4 * root
    wanted[marked, 0] = 0.7 * root
    np.testing.assert_allclose(to_numpy(A), wanted, rtol=1e-15)
    assert data.marked_class == marked % (d - 2)
    np.testing.assert_array_equal(to_numpy(data.classes(xp)), np.arange(n) % (d - 2))
    assert bool(xp.all(data.X(xp) == 1))
    assert data.X(xp).shape == (d, d)
    assert data.matrix(xp, dtype=xp.float32).dtype == data.X(xp, dtype=xp.float32).dtype == xp.float32


def test_row_sums_are_one_plus_the_mark():
    data = TokenData(n=30, d=12, a="0.25", c="0.3", marked=7)
    sums = data.matrix(np).sum(axis=1) / math.sqrt(data.log_n)
    np.testing.assert_allclose(np.delete(sums, 7), 1, rtol=1e-14)
    assert sums[7] == pytest.approx(1.25, rel=1e-14)


def test_the_largest_and_the_smallest_numbers():
    for value in ("1e300", "1e-1000", 10**300, Fraction(10**300), "9.9e299", 1e4):
        assert require_decimal("a", value) == Fraction(str(value))
    assert require_decimal("a", Fraction(1, 10**1000)) == Fraction(1, 10**1000)
    with pytest.raises(ValueError, match=r"a = .*: must be 0 or between 1e-1000 and 1e300"):
        require_decimal("a", Fraction(9, 10**1001))
    for value in ("1e-1001", "9e-1001", "1e301", 10**301):
        with pytest.raises(ValueError, match=f"a = .*{str(value)[:50]}.*: must be 0 or between 1e-1000 and 1e300"):
            require_decimal("a", value)
    for value in ("1.1e300", "9e300", f"{10**301}/3"):
        with pytest.raises(ValueError, match=f"a = '{value[:50]}.*: must be at most 1e300"):
            require_decimal("a", value)
    assert require_decimal("a", "1e-500", least=Fraction(1, 10**500)) == Fraction(1, 10**500)


def test_exponents_that_no_decimal_can_have():
    assert [require_decimal("a", f"{zero}e{10**20}") for zero in ("0", "-0.0", " 0")] == [0, 0, 0]
    for value in (f"1e{10**20}", f"-0.5e-{10**20}", f"1E{10**20}", f" 1e{10**20} "):
        with pytest.raises(ValueError, match=r"a = .*: must be 0 or between 1e-1000 and 1e300"):
            require_decimal("a", value)
    with pytest.raises(ValueError, match=r"a = .*: must be a finite number or a decimal string"):
        require_decimal("a", f"xe{10**20}")


def test_a_mask_is_no_plain_array(rng):
    masked = np.ma.masked_equal([1.0, 2.0], 2.0)
    with pytest.raises(TypeError, match="scores: is a masked array"):
        QueryData(n=2).matrix(rng, scores=masked)
    with pytest.raises(TypeError, match="ids: is a masked array"):
        require_items("ids", masked)


def test_a_memory_map_is_a_plain_array(tmp_path):
    require_plain("scores", np.memmap(tmp_path / "scores", dtype=np.float64, mode="w+", shape=2))


def test_each_array_must_be_floating_and_all_entries_finite():
    with pytest.raises(TypeError, match=r"^x: dtype int64, must be float64 or float32"):
        require_floating(np, A=np.ones(2), x=np.ones(2, dtype=np.int64))
    for value in (np.nan, np.inf, -np.inf):
        with pytest.raises(ValueError, match=r"^A, x: the result is not finite"):
            require_finite(np, np.array([1.0, value]), "A, x")


@pytest.mark.parametrize("data", [QueryData(n=4), TokenData(**GOOD)])
def test_data_are_frozen_and_named(data):
    with pytest.raises(AttributeError, match="cannot assign to field 'n'"):
        data.n = 8
    with pytest.raises(TypeError, match="positional argument"):
        type(data)(4, 5, 0, 0.5)


def test_defaults_and_types_are_as_said(xp):
    data = QueryData(n=4)
    assert (data.low, data.high, data.spike, data.position, data.d) == (math.log(1.2), math.log(1.4), None, 0, 8)
    assert (TokenData(**GOOD).marked, TokenData(**GOOD).gap) == (0, Fraction(1, 10))
    assert [type(end) for end in (QueryData(n=2, low=1, high=2).low, QueryData(n=2, low=1, high=2).high)] == [float] * 2
    kind = type(xp.ones(1))
    made = [data.matrix(np.random.default_rng(1), xp=xp)[0], *(getattr(TokenData(**GOOD), f)(xp) for f in TOKEN_ARRAYS)]
    assert [type(array) for array in made] == [kind] * 4


TOKEN_ARRAYS = ("matrix", "X", "classes")


def test_arrays_are_numpys_unless_told_otherwise(monkeypatch):
    monkeypatch.setenv("ATTNSEP_BACKEND", "numpy")
    for name in TOKEN_ARRAYS:
        np.testing.assert_array_equal(getattr(TokenData(**GOOD), name)(), getattr(TokenData(**GOOD), name)(np))


@pytest.mark.parametrize(("spike", "position", "odd"), [(5.0, 0, 2), (5.0, 2, 1), (None, 2, 2), (None, 0, 2)])
def test_the_odd_token_is_the_last_ordinary_one(spike, position, odd):
    v = QueryData(n=3, low=1.0, high=2.0, spike=spike, position=position).scores(None, fill="one-high")
    assert v[odd] == 2.0
    assert sum(v == 2.0) == 1


def test_limits_of_integers_arrays_and_digits():
    assert require_integer("n", 5, least=5, most=5) == 5
    assert require_integer("n", 10**301, least=2) == 10**301
    assert type(require_integer("n", np.int8(3), least=2)) is int
    refused = [
        (lambda: require_integer("n", 4, 5, 5), "n = 4: must be at least 5"),
        (lambda: require_integer("n", 6, 5, 5), "n = 6: must be at most 5"),
        (lambda: require_integer("n", 10**301 + 1, 2), r"n = 1000.*: must be at most 10\^301"),
        (lambda: require_size(n=3 * 10**8, d=2), r"n, d = 300000000, 2: an array must have at most 3·10\^8 entries"),
        (lambda: require_size(n=3 * 10**8 + 1), r"n = 300000001: an array must have at most 3·10\^8 entries"),
        (lambda: require_decimal("a", "0." + 4001 * "1"), "a = .*: must have at most 4000 digits"),
        (lambda: require_decimal("a", Fraction(10**3200 + 1, 10**4100)), "a = .*: must have at most 4000 digits"),
        (lambda: require_decimal("a", Fraction(10**4200 + 1, 10**3950)), "a = .*: must have at most 4000 digits"),
        (lambda: require_probability("p", Fraction(1, 10**4001)), "p = .*: must have at most 4000 digits"),
        (lambda: QueryData(n=10**9).scores(np.random.default_rng(1)), "n = 1000000000: an array"),
        (lambda: QueryData(n=10**5, d=10**4).matrix(np.random.default_rng(1)), "n, d = 100000, 10000: an array"),
        (lambda: QueryData(n=10**4, d=10**5).matrix(np.random.default_rng(1)), "n, d = 10000, 100000: an array"),
        (lambda: TokenData(n=10**9, d=3, a=0, c="0.5").classes(np), "n = 1000000000: an array"),
        (lambda: TokenData(n=10**8, d=4, a=0, c="0.5").matrix(np), "n, d = 100000000, 4: an array"),
        (lambda: TokenData(n=10**5, d=10**5 + 2, a=0, c="0.5").X(np), "d, width = 100002, 100002: an array"),
    ]
    for call, message in refused:
        with pytest.raises(ValueError, match=message):
            call()
    assert require_size(n=10**8, d=3) is None
    assert require_decimal("a", "0." + 3990 * "1").denominator == 10**3990


def test_long_integers_are_shown_in_short():
    shown = [
        shown_integer(value) for value in (10**6, 10**5, 10**7, 2 * 10**7, 10**7 + 1, 11 * 10**6, 999_999, 10**301)
    ]
    assert shown == ["10^6", "100000", "10^7", "20000000", "10000001", "11000000", "999999", "10^301"]


def test_real_numbers():
    assert (require_real("tau", -2), require_real("tau", Fraction(1, 2))) == (-2.0, 0.5)
    assert type(require_real("tau", np.float32(0.5))) is float
    for value in (math.nan, math.inf, -math.inf, 10**400):
        with pytest.raises(ValueError, match=r"tau = .*: must be finite"):
            require_real("tau", value)
    for value in (True, "1", None, 1j):
        with pytest.raises(TypeError, match=r"tau = .*: must be a real number"):
            require_real("tau", value)


def test_classes_and_sequences():
    assert require_instance("data", True, int) is True
    assert require_items("w", (1, 2)) == require_items("w", iter([1, 2])) == [1, 2]
    for value in ("ab", b"ab", {1: 2}, 5, None):
        with pytest.raises(TypeError, match=r"w = .*: must be a sequence"):
            require_items("w", value)


def test_the_entries_are_a_list_of_their_own():
    given = [1, 2]
    require_items("w", given).append(3)
    assert given == [1, 2]


def test_an_error_while_the_entries_are_made_is_no_other_one():
    with pytest.raises(ZeroDivisionError):
        require_items("w", (1 / k for k in (1, 0)))


def test_a_comma_alone_is_what_needs_quotation_marks():
    assert listed(["a b", "a,b", "c"]) == "a b, 'a,b', c"


def test_numpys_integers_do_not_overflow():
    assert require_decimal("a", np.int8(100)) == 100
    assert require_decimal("a", "0e-5000") == require_decimal("a", "0e5000") == 0
    data = TokenData(n=np.int8(120), d=np.int8(122), a=np.int8(100), c="0.5", marked=np.int8(119))
    assert (data.t, data.marked_class) == (1, 119)
