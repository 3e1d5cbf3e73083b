"""What a line says and judges for findings that are given here: each verdict on both sides of its threshold."""

import math

import numpy as np
import pytest

from attnsep.extensions.recall import recall_floor
from attnsep.paper import tokens
from attnsep.probability.sign_sums import clopper_pearson
from attnsep.reportcard import _lines
from attnsep.reportcard._callables import Budget, Late, Misfit, adapted
from attnsep.reportcard._lines import Frequency, Judge
from lib.tests.reportcard import stand_ins

WITHIN, BEYOND = 1 - 1e-9, 1 + 1e-9
INF, NAN = math.inf, math.nan


def judge_of(attention=stand_ins.softmax, most=512, width=18, dtype=None, **known):
    """Return a judge who knows already what is given, such as by_place=True."""
    called = adapted(attention, library="numpy", width=width, dtype=dtype, budget=Budget(1000))
    judge = Judge(called, 0, most)
    vars(judge).update({"off": 0.0, "jumps": 0.0, "apart": True, "by_place": False} | known)
    return judge


def crowd(*rows):
    return [dict(zip(("n", "weight", "least", "most", "gain"), row, strict=True)) for row in rows]


# Weight, least and most of it among 512 tokens, its gain among 256 and 512, and the verdict.
SEEN = [
    ((0.7, 0.5, 0.9, 2.0, 4.01), "yes"),
    ((0.7, 0.4999, 0.5, 2.0, 4.01), "partly"),
    ((0.7, 0.5, 0.9, 2.0, 4.0), "partly"),  # a crowd of n grows like n^1 itself
    ((0.3, 0.2, 0.4999, 2.0, 4.01), "partly"),
    ((0.3, 0.2, 0.4999, 2.0, 4.0), "no"),
    ((1.0, 1.0, 1.0, INF, INF), "yes"),
    ((1 - 1e-10, 0.5, 1.0, 2.0, INF), "yes"),
    ((1 - 1e-8, 0.5, 1.0, 2.0, INF), "partly"),
    ((0.0, 0.0, 0.0, 0.0, 0.0), "no"),
    ((1.0, 0.9, 1.01, 1.0, 4.01), "yes"),
    ((1.0, 0.9, 1.0101, 1.0, 4.01), "not judged"),
]


@pytest.mark.parametrize(("row", "verdict"), SEEN)
def test_whoever_sees_has_half_of_the_weight_and_outgrows_the_crowd(monkeypatch, row, verdict):
    weight, least, most, before, last = row
    rows = crowd((256, 0.1, 0.1, 0.1, before), (512, weight, least, most, last))
    monkeypatch.setattr(_lines, "_growing_crowd", lambda judge: rows)
    monkeypatch.setattr(_lines, "mark_weights", lambda *given, **more: (0.0, 0.0))
    assert _lines.sees(judge_of()).verdict == verdict


def weighed(sizes, by_place, monkeypatch):
    """Return the line of a mark whose weight is a half from the strength 1.5, or three times the scores, on."""
    asked = set()

    def weights(judge, data, factor=1.0):
        asked.add((data.n, data.marked))
        return 0.5 if data.a >= 1.5 or factor >= 3 else 0.4999, NAN

    monkeypatch.setattr(_lines, "_growing_crowd", lambda judge: sizes)
    monkeypatch.setattr(_lines, "mark_weights", weights)
    return _lines.sees(judge_of(by_place=by_place)), asked


def test_a_mark_among_many_is_said_with_what_would_repair_it(monkeypatch):
    wins = "it wins half of the weight from the strength a = 1.5 on; at a = 0.7 it would if all scores were 3 times"
    rows = crowd((512, 0.2, 0.1, 0.3, 8.0), (1024, 0.004, 0.001, 0.25, 8.0 * 2**-0.001))
    grows = "its gain grows like n^0.00, and a crowd of n needs more than n^1"
    line, asked = weighed(rows, False, monkeypatch)
    assert line.says == (
        f"Among 1024 tokens the mark has 1 in 250 of its own row's weight; {grows}. Among 512 {wins} as large."
    )
    assert asked == {(512, 0)}  # what would repair it is asked among at most as many
    assert line.numbers["least strength"] == pytest.approx(1.5, rel=1e-4)
    assert line.numbers["least scale"] == pytest.approx(3, rel=1e-4)
    assert (line.numbers["n"], line.numbers["sizes"]) == (512, rows)
    line, asked = weighed(rows, True, monkeypatch)
    assert " of its own row's weight (from 1 in 1000 to 25 %, by its place); its gain grows" in line.says
    assert asked == {(512, 256)}
    line, asked = weighed(crowd((64, 0.2, 0.1, 0.3, 1.0), (128, 1.0, 0.999, 1.0, INF)), True, monkeypatch)
    assert line.says == f"Among 128 tokens the mark has 100 % of its own row's weight. Among 128 {wins} as large."
    assert asked == {(128, 64)}


def test_a_crowd_of_one_size_shows_no_growth(monkeypatch):
    says = "For 128 tokens there are no weights: the time is too short, it takes fewer, or they are not finite."
    monkeypatch.setattr(_lines, "_growing_crowd", lambda judge: crowd((64, 0.5, 0.5, 0.5, 1.0)))
    assert _lines.sees(judge_of()) == _lines.Line("sees", "not judged", says, {})


@pytest.mark.parametrize(
    ("strength", "scale", "says"),
    [
        (1.5, 2.0, "from the strength a = 1.5 on; at a = 0.7 it would if all scores were 2 times as large."),
        (1.5, 1.0, "from the strength a = 1.5 on; at a = 0.7 it does even with all scores times 1."),
        (0.5, 0.125, "from the strength a = 0.5 on; at a = 0.7 it does even with all scores times 0.12."),
        (None, 99.7, "at no strength up to 1024; at a = 0.7 it would if all scores were 100 times as large."),
        (99.4, 312.2, "from the strength a = 99 on; at a = 0.7 it would if all scores were 312 times as large."),
        (1.5, None, "from the strength a = 1.5 on, and at a = 0.7 no scale of the scores helps."),
    ],
)
def test_what_would_repair_it_is_said(strength, scale, says):
    found = {"least strength": strength, "least scale": scale}
    assert _lines._wins(64, found) == f"Among 64 it wins half of the weight {says}"
    short = "The time was too short to look for the strength and the scale with which it wins half of the weight."
    assert {_lines._wins(64, {name: found[name]}) for name in found} == {short}


def test_the_least_that_wins_is_looked_for_from_a_1024th_to_1024():
    def from_on(least):
        return _lines._least_that_wins(lambda x: 0.5 if x >= least else 0.4999)

    assert [from_on(2.0**power) for power in (-11, -10, 0, 10)] == pytest.approx([2.0**-10, 2.0**-10, 1, 1024])
    assert from_on(1024.1) is None
    assert from_on(0.3) == pytest.approx(0.3, rel=1e-4)
    assert _lines._least_that_wins(lambda x: NAN if x < 2 else INF if x < 4 else 0.5) == pytest.approx(4, rel=1e-4)

    def refused_below(x):
        if x < 2:
            raise Misfit("no scores so small")
        return 0.5

    assert _lines._least_that_wins(refused_below) == pytest.approx(2, rel=1e-4)


def test_a_crowd_grows_as_far_as_it_is_asked_for_taken_and_finite(monkeypatch):
    asked, end = [], {}

    def weights(judge, data):
        asked.append((data.n, data.marked, data.a))
        if data.n == end.get("refused"):
            raise Misfit("too many")
        return (NAN if data.n == end.get("NaN") and data.marked else (data.marked + 1) / data.n), 0.0

    monkeypatch.setattr(_lines, "mark_weights", weights)
    rows = _lines._growing_crowd(judge_of(most=256, by_place=True))
    assert [row["n"] for row in rows] == [64, 128, 256]
    median = 33 / 64
    assert rows[0] == {"n": 64, "weight": median, "least": 1 / 64, "most": 1.0, "gain": _lines.gain(64, median)}
    assert asked[:5] == [(64, place, _lines.STRONG) for place in (0, 16, 32, 47, 63)]
    asked.clear()
    assert [row["n"] for row in _lines._growing_crowd(judge_of(most=255))] == [64, 128]
    assert [place for _, place, _ in asked] == [0, 63, 0, 127]
    for how, n, sizes in (("refused", 128, [64]), ("NaN", 128, [64]), ("NaN", 64, [])):
        end.clear()
        end[how] = n
        assert [row["n"] for row in _lines._growing_crowd(judge_of())] == sizes
    end["refused"] = 64
    with pytest.raises(Misfit, match="too many"):
        _lines._growing_crowd(judge_of())


@pytest.mark.parametrize(
    ("highest", "lowest", "verdict"),
    [
        (0.1, 0.9, "yes"),
        (0.1001, 0.9, "partly"),
        (0.1, 0.8999, "partly"),
        (0.25, 0.7501, "partly"),
        (0.25, 0.75, "no"),
    ],
)
def test_a_network_is_right_where_both_intervals_say_so(highest, lowest, verdict):
    assert _lines._right(Frequency(0.05, 0.0, highest, 9), Frequency(0.95, lowest, 1.0, 9)) == verdict


WEAK, STRONG = Frequency(0.01, 0.005, 0.05, 2000), Frequency(0.95, 0.91, 0.97, 2000)
FIRED = "At n = 512, d = 18, m = 10 the network fires on D_0 with probability 0.010 ± 0.040, on D_1 with 0.950 ± 0.040"
LAW = "The exact law of the nearest known kernel, linear, has "


@pytest.mark.parametrize(
    ("near", "first", "rates", "says"),
    [
        ((0.005, 0.97), None, [0.95], f". {LAW}0.0050 and 0.9700: inside both intervals."),
        ((0.05, 0.91), 64, [0.95], f". {LAW}0.0500 and 0.9100: inside both intervals. "),
        ((0.0501, 0.95), None, [0.95], f". {LAW}0.0501 and 0.9500: not inside both."),
        ((0.01, 0.9099), None, [0.95], f". {LAW}0.0100 and 0.9099: not inside both."),
        (
            None,
            None,
            [0.9, 1.0, 0.8],
            " (on D_1 from 0.800 to 1.000, by the mark's place). No kernel with an exact law ",
        ),
    ],
)
def test_how_often_networks_fire_is_said_beside_the_exact_law(monkeypatch, near, first, rates, says):
    found = [(WEAK, [0.01] * len(rates)), (STRONG, rates)]
    law = near and {"kernel": "linear", "distance": 0.0, "fires": list(near)}
    monkeypatch.setattr(_lines, "_fired", lambda judge, n: found)
    monkeypatch.setattr(_lines, "_nearest", lambda judge, n: law)
    monkeypatch.setattr(_lines, "_from_which_n", lambda judge, n, given: first if given is found else None)
    line = _lines.separates(judge_of())
    says += "has its gains." if near is None else ""
    says += "Both errors are at most 10 % from n = 64 on, as far as 512." if first else ""
    assert (line.says, line.verdict) == (FIRED + says, "yes")
    numbers = line.numbers
    assert (numbers["n"], numbers["d"], numbers["m"], numbers["networks"], numbers["from n"]) == (
        512,
        18,
        10,
        2000,
        first,
    )
    assert numbers["fires"]["D_0"] == {"rate": 0.01, "low": 0.005, "high": 0.05, "networks": 2000}
    assert numbers["by place"] == (None if len(rates) == 1 else {"D_0": [0.01] * 3, "D_1": rates})
    assert numbers["nearest"] == law
    if near:
        assert law["agrees"] == ("not inside" not in says)


def test_a_network_without_finite_inputs_is_not_judged(monkeypatch):
    judge = judge_of()
    for factors, number in (((1, 1), 2), ((1, NAN), 0), ((INF, 1), 0)):
        left = iter(factors)
        judge.attention.function = lambda q, k, v, left=left: (v + 1) * next(left)
        assert len(_lines._fired(judge, 64) or []) == number
    monkeypatch.setattr(_lines, "SIZES", (64,))
    judge.attention.function = lambda q, k, v: v * NAN
    for line in (_lines.separates, _lines.counts):
        says = "The outputs for 64 tokens are not finite."
        assert line(judge) == _lines.Line(line.__name__, "not judged", says, {})


def test_networks_are_given_the_outputs_of_the_data_alone_for_each_place(monkeypatch):
    asked = []
    monkeypatch.setattr(_lines, "frequency", lambda *given: asked.append(given) or len(asked))
    judge = judge_of(stand_ins.causal, width=40, by_place=True)
    assert _lines._fired(judge, 64, 4) == [1, 2]
    for a, (of, outs, tau, share) in zip((_lines.WEAK, _lines.STRONG), asked, strict=True):
        data = _lines.data_of(64, 40, a)
        assert (of, tau, share, data.d, len(outs)) == (judge, data.tau, 4, 18, 5)
        for place, out in zip((0, 16, 32, 47, 63), outs, strict=True):
            given = _lines.inputs(_lines.data_of(64, 40, a, place), 40)
            assert np.array_equal(out, stand_ins.causal(*given)[:, :18])


def test_a_frequency_counts_ties_as_silent_and_stops_when_the_time_is_spent():
    """A column of ten is silent on an output of one number with probability 2^−10, whatever the sign of the number."""
    judge = judge_of()
    tie, above, both = np.array([[1 + 1e-15]]), np.array([[1.0000001]]), np.array([[1.5], [-1.5]])
    whole, rates = _lines.frequency(judge, [tie, both], 1.0)
    assert rates == [0, 1]
    assert whole == Frequency(0.5, *clopper_pearson(1000, 2000, _lines.ALARM), 2000)
    assert _lines.frequency(judge, [above], 1.0)[0].rate > 0.98
    assert _lines.frequency(judge, [tie, both], 1.0, 4)[0].networks == 500
    assert _lines.frequency(judge, [both] * 300, 1.0)[0].networks == 10 * 300  # one of each round at least
    judge.attention.budget.stop = -INF
    assert _lines.frequency(judge, [tie, both], 1.0)[0].networks == 200
    assert str(Frequency(0.25, 0.2, 0.27, 9)) == str(Frequency(0.25, 0.23, 0.3, 9)) == "0.250 ± 0.050"


def test_the_nearest_kernel_is_named_where_there_are_weights_in_any_order():
    judge = judge_of(lambda q, k, v: stand_ins.softmax(q / 3, k, v))
    near = _lines._nearest(judge, 64)
    laws = [tokens.law(64, 18, a, "0.5", "softmax:1/3").fires(10) for a in ("0.05", "0.7")]
    assert near == {"kernel": "softmax:0.333", "distance": near["distance"], "fires": pytest.approx(laws)}
    assert near["distance"] < 1e-6
    assert _lines._nearest(judge_of(), 64)["kernel"] == "softmax"  # the shorter name of two that are as near
    for known in ({"by_place": True}, {"off": 0.02}, {"apart": False}):
        vars(judge).update({"by_place": False, "off": 0.0, "apart": True} | known)
        assert _lines._nearest(judge, 64) is None


def test_counting_is_said_with_both_weights_and_both_frequencies(monkeypatch):
    asked = []
    answers = [(WEAK, []), (STRONG, [])]
    monkeypatch.setattr(_lines, "SIZES", (64,))
    monkeypatch.setattr(_lines, "frequency", lambda *given: asked.append(given) or answers[len(asked) - 1])
    line = _lines.counts(judge_of(stand_ins.linear))
    share = [m * 1.7 / (m * 1.7 + 1 - m) for m in (0.25, 0.75)]  # the marked tokens' score is 1.7 times the others'
    assert line.numbers["mass"] == pytest.approx(share)
    assert line.numbers["spread"] == [pytest.approx((x, x)) for x in share]
    assert line.says == (
        "Where 1/4 of 64 tokens are marked they have 36 % of the weight, where 3/4 are 84 % of the weight. A network "
        "with its threshold midway between linear attention's answers fires with probability 0.010 ± 0.040 on the "
        "first and 0.950 ± 0.040 on the second."
    )
    assert line.numbers["fires"]["1/4"]["rate"] == 0.01
    assert line.numbers["fires"]["3/4"]["rate"] == 0.95
    assert (line.verdict, [len(outs) for _, outs, _ in asked]) == ("yes", [1, 1])


def test_counting_by_place_is_said_with_its_spread(monkeypatch):
    """Where a token sees itself alone, it has all weight of the marked ones or none."""
    asked = []
    monkeypatch.setattr(_lines, "SIZES", (64,))
    monkeypatch.setattr(_lines, "frequency", lambda *given: asked.append(given) or (STRONG, []))
    judge = judge_of(by_place=True)
    judge.attention.function = lambda q, k, v: v
    line = _lines.counts(judge)
    assert line.numbers["spread"] == [pytest.approx((0, 1)), pytest.approx((0, 1))]
    assert line.numbers["mass"] == pytest.approx([0, 1])
    assert "they have 0 of the weight (from 0 to 100 %, by row), where 3/4 are 100 % of the weight (from 0" in line.says
    for _, outs, _ in asked:
        assert len(outs) == 5
        assert not np.array_equal(outs[0], outs[1])  # the marked ones stand elsewhere


def of_losses(monkeypatch, losses, absolute=None):
    """Return the line of an attention with these losses, the weights a unit matrix, and how often each was asked."""
    asked = []

    def recalled(judge, keys):
        pairs = len(keys)
        asked.append(pairs)
        found = losses[pairs] if (keys < 0).any() else (absolute or losses)[pairs]
        if isinstance(found, Exception):
            raise found
        return np.eye(pairs), found

    monkeypatch.setattr(_lines, "_recalled", recalled)
    return _lines.recalls(judge_of()), asked


@pytest.mark.parametrize(
    ("losses", "most", "verdict"),
    [
        ((0.0, 0.01, 0.05), 64, "yes"),
        ((0.0, 0.05, 0.0501), 16, "partly"),
        ((0.05, 0.0501, 0.0), 4, "no"),
        ((0.0501, 0.0, 0.0), 0, "no"),
        ((Misfit("few"), 0.05, 0.0501), 16, "partly"),
        ((Misfit("few"), 0.05, 0.05), 64, "yes"),
        ((0.0, 0.01, NAN), 16, "yes"),
    ],
)
def test_who_recalls_does_so_up_to_the_largest_number(monkeypatch, losses, most, verdict):
    losses = dict(zip((4, 16, 64), losses, strict=True))
    line, _ = of_losses(monkeypatch, losses)
    assert (line.verdict, line.numbers["most pairs"]) == (verdict, most)
    rows = line.numbers["sizes"]
    assert [row["pairs"] for row in rows] == [n for n, x in losses.items() if not isinstance(x, Misfit) and x == x]
    last = rows[-1]
    assert last["rank"] == last["pairs"]
    assert line.says == (
        f"Of {last['pairs']} pairs with random keys of width 18 it recalls with the loss {losses[last['pairs']]:.4f}; "
        f"to recall nothing costs about ½. Its weights have rank {last['rank']}, with which no loss is below the floor "
        f"0.0000; it is {losses[last['pairs']]:.4f} above. "
        + (
            f"Up to {most} pairs the loss is at most 0.05."
            if most
            else "At no number of pairs the loss is at most 0.05."
        )
    )


def test_keys_without_signs_are_tried_where_nothing_is_recalled_and_the_smaller_loss_counts(monkeypatch):
    losses, absolute = {4: 0.5, 16: 0.6, 64: NAN}, {4: 0.0, 16: 0.3, 64: 0.2}
    line, asked = of_losses(monkeypatch, losses, absolute)
    assert [row["loss"] for row in line.numbers["sizes"]] == [0.5, 0.3, 0.2]
    assert asked == [4, 16, 16, 64, 64]
    line, _ = of_losses(monkeypatch, {4: 0.5, 16: 0.6, 64: 0.7}, {4: 0.0, 16: NAN, 64: 0.9})
    assert [row["loss"] for row in line.numbers["sizes"]] == [0.5, 0.6, 0.7]


def test_why_nothing_was_recalled_is_said_as_it_is(monkeypatch):
    """It is no lack of time where the attention takes no such lists, or answers with what is not finite."""
    line, _ = of_losses(monkeypatch, dict.fromkeys((4, 16, 64), NAN))
    assert line == _lines.Line("recalls", "not judged", "The weights of 4 pairs are not finite.", {})
    line, _ = of_losses(monkeypatch, dict.fromkeys((4, 16, 64), Misfit("rule: broken")))
    assert line == _lines.Line("recalls", "not judged", "It could not be judged: rule: broken.", {})
    line, _ = of_losses(monkeypatch, dict.fromkeys((4, 16, 64), Late()))
    assert line == _lines.Line("recalls", "not judged", "The time is too short for it.", {})


def test_the_rank_of_the_weights_gives_the_floor_and_is_no_less_than_one(monkeypatch):
    for kept, rank in ((3, 3), (0, 0)):
        W = np.diag([1.0] * kept + [1e-13] * (64 - kept)) if kept else np.zeros((64, 64))
        monkeypatch.setattr(_lines, "PAIRS", (64,))
        monkeypatch.setattr(_lines, "_recalled", lambda judge, keys, W=W: (W, 0.49))
        line = _lines.recalls(judge_of())
        floor = float(recall_floor(64, max(rank, 1)))
        assert line.numbers["sizes"] == [{"pairs": 64, "loss": 0.49, "rank": rank, "floor": floor}]
        assert f" rank {rank}, with which no loss is below the floor {floor:.4f}; it is {0.49 - floor:.4f} above. " in (
            line.says
        )


def test_a_mean_is_of_as_many_tokens_as_the_median_rows_weights_say(monkeypatch):
    asked = []

    def weights(judge, q, k):
        asked.append((q, k))
        return np.array([[1, 0, 0, 0], [-1, 1, 0, 0], [1, 1, 1, 1.0]])

    monkeypatch.setattr(_lines, "weights_of", weights)
    assert _lines._tokens_in_a_mean(judge_of(), 4) == {1: 2, 16: 2, 256: 2}
    (first, k), *others = asked
    assert first.shape == k.shape == (4, 18)
    for factor, (q, same) in zip((16, 256), others, strict=True):
        assert np.array_equal(q, factor * first)
        assert np.array_equal(same, k)


@pytest.mark.parametrize(
    ("last", "verdict", "does"),
    [
        (2, "yes", "selects"),
        (2.01, "partly", "neither selects nor averages"),
        (63.99, "partly", "neither selects nor averages"),
        (64, "no", "averages, whatever the scores"),
    ],
)
def test_who_selects_is_said_with_the_number_of_tokens_in_a_mean(monkeypatch, last, verdict, does):
    monkeypatch.setattr(_lines, "_tokens_in_a_mean", lambda judge, n: {1: 100.04, 16: 50.0, 256: last})
    line = _lines.selects(judge_of())
    says = (
        "An output is the mean of 100.0 of 256 random tokens, counted as the inverse of the sum of squared weights. "
        f"With scores 16 times as large it is the mean of 50.0, 256 times of {last:.1f}: it {does}."
    )
    numbers = {"n": 256, "tokens": {"1": 100.04, "16": 50.0, "256": last}}
    assert line == _lines.Line("selects", verdict, says, numbers)
    monkeypatch.setattr(_lines, "_tokens_in_a_mean", lambda judge, n: {1: 9, 16: 9, 256: INF})
    says = "With scores 256 times as large its weights are not finite."
    assert _lines.selects(judge_of()) == _lines.Line("selects", "not judged", says, {})


def test_the_first_number_of_tokens_that_fits_is_taken_and_the_last_reason_said():
    judge, tried = judge_of(), []

    def work(n):
        tried.append(n)
        if n > 64:
            raise Misfit(f"not {n}") if n > 128 else Late
        return n + 1

    assert _lines.first_that_fits(judge, (512, 256, 128, 64, 32), 0.5, work) == 65
    assert tried == [512, 256, 128, 64]
    with pytest.raises(Misfit, match="not 256"):
        _lines.first_that_fits(judge, (512, 256), 0.5, work)
    with pytest.raises(Late):
        _lines.first_that_fits(judge, (128,), 0.5, work)


SOUND = "Rows, order, lengths and heads are as they should be."
OPEN = "No fault was found, but not all was looked at."
SHORT = "The time was too short for all about"


@pytest.mark.parametrize(
    ("parts", "verdict", "says"),
    [
        ({}, "yes", SOUND),
        ({"heads": "a note."}, "yes", f"{SOUND} a note."),
        ({"rows": ["one"], "order": ["two"]}, "partly", "Not as it should be: one; two."),
        ({"masks": Late()}, "not judged", f"{OPEN} {SHORT} masks."),
        (
            {"rows": Late(), "digits": Late(), "heads": "a note."},
            "not judged",
            f"{OPEN} {SHORT} rows and digits. a note.",
        ),
        ({"order": Misfit("b: c")}, "not judged", f"{OPEN} Its order could not be judged: b: c."),
        (
            {"rows": ["one"], "lengths": Misfit("b"), "masks": Late()},
            "partly",
            f"Not as it should be: one. Its lengths could not be judged: b. {SHORT} masks.",
        ),
    ],
)
def test_what_was_found_and_what_was_not_looked_at_are_said_together(monkeypatch, parts, verdict, says):
    seen = []

    class Found(_lines.Numerics):
        pass

    def part(name):
        def look(self):
            seen.append(name)
            match parts.get(name):
                case str(note):
                    self.notes.append(note)
                case list(faults):
                    self.faults += faults
                case Exception() as error:
                    raise error

        look.__name__ = name
        return look

    names = ["rows", "order", "lengths", "heads", "masks", "digits"]
    for name in names:
        setattr(Found, name, part(name))
    monkeypatch.setattr(_lines, "Numerics", Found)
    assert _lines.numerics(judge_of()) == _lines.Line("numerics", verdict, says, {})
    assert seen == names


def looked_at(part, judge):
    """Return the faults, the notes and the numbers of one part of the last line."""
    about = _lines.Numerics(judge)
    getattr(about, part)()
    return about.faults, about.notes, about.numbers


SINGLE = 2.0**-23
LIKE = "nside it computes with about the digits of"


@pytest.mark.parametrize(
    ("inside", "faults", "notes"),
    [
        (SINGLE / 64, [], []),
        (SINGLE / 64 * BEYOND, [], [f"I{LIKE} float32: what should be equal differs by 2e-09."]),
        (SINGLE * 16, [], [f"I{LIKE} float32: what should be equal differs by 2e-06."]),
        (SINGLE * 16 * BEYOND, [f"i{LIKE} float16 or bfloat16: what should be equal differs by 2e-06"], []),
    ],
)
@pytest.mark.parametrize("by", ["off", "jumps"])
def test_digits_inside_are_those_of_the_largest_step(inside, faults, notes, by):
    found = looked_at("rows", judge_of(**{by: inside}))
    assert found[:2] == (faults, notes)
    assert found[2]["rounding inside"] == inside


def off_by(share, where=lambda scores: True):
    def attention(q, k, v):
        return stand_ins.softmax(q, k, v) * (1 + (share if where(q @ k.T) else 0.0))

    return attention


ROWS = "of 31 tokens the weights of a row sum to 1 only up to"


@pytest.mark.parametrize(
    ("attention", "faults", "notes"),
    [
        (off_by(-1e-15), [], []),
        (off_by(-9e-5), [], ["The weights of a row sum to 1 up to 9e-05."]),
        (off_by(2e-4), [f"{ROWS} 0.0002"], []),
        (off_by(-0.3, lambda scores: scores.max() > 4), [f"{ROWS} 0.3"], []),  # only where scores are large
        (off_by(-0.3, lambda scores: scores.max() < 3), [f"{ROWS} 0.3"], []),
        (off_by(-0.3, lambda scores: scores.min() < 0), [f"where scores have both signs, {ROWS} 0.3"], []),
        (off_by(NAN, lambda scores: scores.max() > 9990), ["scores of 10,000 make its outputs NaN or inf"], []),
    ],
)
def test_sums_of_weights_are_judged_whatever_the_scores(attention, faults, notes):
    judge = judge_of()
    judge.attention.function = attention
    assert looked_at("rows", judge)[:2] == (faults, notes)


@pytest.mark.parametrize(
    ("back", "ahead", "faults", "notes"),
    [
        (1, 1, [], ["at most 1 token before it and at most 1 token after it: 3 in all."]),
        (
            0,
            1,
            ["it looks one token ahead, as with a mask off by one"],
            ["no token before it and at most 1 token after"],
        ),
        (
            1,
            0,
            ["it looks one token back, as with a mask off by one"],
            ["at most 1 token before it and no token after it"],
        ),
        (
            3,
            1,
            ["it looks one token ahead, as with a mask off by one"],
            ["at most 3 tokens before it and at most 1 tok"],
        ),
        (
            2,
            3,
            [],
            ["at most 2 tokens before it and at most 3 tokens after it: 6 in all.", "One side has one more: is"],
        ),
        (2, 4, [], ["at most 2 tokens before it and at most 4 tokens after it: 7 in all."]),
        (16, 0, [], ["at most 16 tokens before it and no token after it."]),
    ],
)
def test_a_window_is_said_and_blamed_where_it_is_off_by_one(monkeypatch, back, ahead, faults, notes):
    monkeypatch.setattr(_lines, "SIZES", (64,))
    judge = judge_of(lambda q, k, v: stand_ins.window(q, k, v, back, ahead), by_place=True)
    found, said, numbers = looked_at("order", judge)
    assert found == faults
    assert len(said) == len(notes)
    assert said[0].startswith(f"Places count: of 64 a token sees itself, {notes[0]}")
    assert all(one.startswith(other) for one, other in zip(said[1:], notes[1:], strict=True))
    expected = {"depends on places": True, "sees itself": True, "sees back": back, "sees ahead": ahead}
    assert numbers == expected
    reach = _lines.Numerics(judge)._reach(64)
    rows = {place: [row for row in range(place - ahead, place + back + 1) if 0 <= row < 64] for place in reach}
    assert reach == {place: [row - place for row in rows[place]] for place in (0, 16, 32, 39, 63)}


@pytest.mark.parametrize(
    ("reach", "back", "ahead"),
    [
        ({0: [0], 32: [0], 63: [0]}, (0, "no token", False), (0, "no token", False)),
        ({0: [0, 63], 32: [-32, 31], 63: [-63]}, (63, "all tokens", False), (63, "all tokens", False)),
        ({0: [0, 2], 32: [1, 2], 63: [0]}, (2, "at most 2 tokens", False), (0, "no token", False)),
        ({0: [0, 2], 32: [1], 63: []}, (2, "from 1 to 2 tokens", True), (0, "no token", False)),
        ({0: [0], 32: [-32], 63: [-5]}, (0, "no token", False), (32, "from 5 to 32 tokens", True)),
        ({0: [63], 32: [3], 63: []}, (63, "from 3 to all tokens", True), (0, "no token", False)),
    ],
)
def test_how_far_is_said_without_those_that_see_up_to_the_end(reach, back, ahead):
    assert _lines.Numerics._how_far(64, reach, 1) == back
    assert _lines.Numerics._how_far(64, reach, -1) == ahead


def test_tokens_that_none_sees_are_named(monkeypatch):
    monkeypatch.setattr(_lines, "SIZES", (64,))
    judge = judge_of(by_place=True)
    judge.attention.function = lambda q, k, v: stand_ins.window(q, k, v * (np.arange(len(v)) > 20)[:, None], 3, 3)
    faults, _, numbers = looked_at("order", judge)
    assert faults == ["no token sees the token 1 or 17 of 64, itself included"]
    assert numbers["sees itself"]
    assert looked_at("order", judge_of())[1:] == (
        ["Permuted tokens give permuted outputs."],
        {"depends on places": False},
    )


def test_short_and_odd_lists_are_tried_and_what_is_wrong_with_them_said():
    def attention(q, k, v):
        n = len(q)
        if n == 1:
            raise ValueError("one")
        return stand_ins.softmax(q, k, v) * {3: NAN, 33: 1.1, 127: 0.8}.get(n, 1)

    judge = judge_of(attention)
    about = _lines.Numerics(judge)
    about.numbers["row sums off by"] = 0.0
    about.lengths()
    assert about.numbers["refused lengths"] == [1, 3]
    assert about.faults == [
        "it takes no 1 or 3 tokens",
        "of 33 or 127 tokens the weights of a row sum to 1 only up to 0.2",
    ]
    for known in ({}, {"row sums off by": 2e-4}):  # else it is said already
        about = _lines.Numerics(judge)
        about.numbers |= known
        about.lengths()
        assert about.faults == ["it takes no 1 or 3 tokens"]
    judge.apart = False  # no weights, of which none need sum to 1
    about.numbers["row sums off by"], about.faults = 0.0, []
    about.lengths()
    assert about.faults == ["it takes no 1 or 3 tokens"]


@pytest.mark.parametrize(("length", "says"), [(1, "it takes no 1 token"), (3, "it takes no 3 tokens")])
def test_one_length_that_is_refused_is_named(length, says):
    def attention(q, k, v):
        if len(q) == length:
            raise ValueError("not so many")
        return stand_ins.softmax(q, k, v)

    about = _lines.Numerics(judge_of(attention))
    about.lengths()
    assert about.faults == [says]


def test_places_that_count_among_127_tokens_alone_are_told():
    def attention(q, k, v):
        out = stand_ins.softmax(q, k, v)
        out[0] *= 1 + (len(q) == 127)
        return out

    says = "among 127 tokens places count, among others they do not"
    for by_place in (False, True):
        about = _lines.Numerics(judge_of(attention, by_place=by_place))
        about.lengths()
        assert about.faults == ([] if by_place else [says])


def test_prompts_that_are_taken_one_at_a_time_are_no_fault():
    def alone(q, k, v):
        assert q.shape[0] == 1, "one prompt"
        return stand_ins.several(q, k, v)

    faults, notes, numbers = looked_at("heads", judge_of(alone))
    assert (faults, notes, [*numbers]) == ([], ["It takes one prompt alone."], ["heads differ by"])
    assert looked_at("heads", judge_of()) == ([], [], {})


def test_a_head_may_differ_by_a_hundred_roundings():
    for share, faults in ((90, []), (120, ["a head beside another answers otherwise than alone (by 3e-14)"])):

        def attention(q, k, v, more=share * 2.0**-52):
            return stand_ins.several(q, k, v) * (1 + more * (q.shape[1] > 1))

        assert looked_at("heads", judge_of(attention))[0] == faults


@pytest.mark.parametrize(
    ("takes", "note", "faults"),
    [
        (lambda q, k, v: stand_ins.softmax(q, k, v), None, []),
        (lambda q, k, v, **ignored: stand_ins.softmax(q, k, v), None, []),
        (lambda q, k, v, mask=None, **_: stand_ins.masked(q, k, v, mask), "mask: True takes part", []),
        (lambda q, k, v, attn_mask=None: stand_ins.masked(q, k, v, attn_mask), "attn_mask: True takes part", []),
        (
            lambda q, k, v, attn_mask=None, mask=None: (
                stand_ins.inverted_mask(q, k, v, attn_mask) if mask is None else stand_ins.masked(q, k, v, mask)
            ),
            "attn_mask: True hides",
            [],
        ),
        (
            lambda q, k, v, attn_mask=None: stand_ins.mask_off_by_one(q, k, v, attn_mask),
            None,
            ["with attn_mask weights are not 0 exactly where it hides tokens"],
        ),
    ],
)
def test_a_mask_is_said_under_the_first_name_that_is_looked_at(takes, note, faults):
    found, notes, numbers = looked_at("masks", judge_of(takes))
    assert found == faults
    none = "Masks are not judged: it takes none of Booleans, n by n."
    assert notes == ([f"It keeps a mask, {note}."] if note else [] if faults else [none])
    assert numbers["mask"] == ("attn_mask: broken" if faults else note)


def test_fewer_digits_are_compared_dtype_by_dtype(monkeypatch):
    def attention(q, k, v):
        if v.dtype == np.float16:
            raise TypeError("no halves")
        return stand_ins.softmax(q, k, v) * (1.25 if v.dtype == np.float32 else 1)

    monkeypatch.setattr(_lines.Numerics, "_loses", lambda self, dtype: f" ({dtype})")
    faults, notes, numbers = looked_at("digits", judge_of(attention))
    assert faults == []
    assert notes == ["float32 is off by 0.2 of the largest output (float32).", "It takes no float16."]
    assert numbers == {"float32": {"error": pytest.approx(0.25, rel=1e-3)}, "float16": None}
    judge = judge_of(dtype="float32")
    judge.attention.function = lambda q, k, v: stand_ins.softmax(q, k, v) * (NAN if v.dtype == np.float16 else 1)
    faults, notes, numbers = looked_at("digits", judge)
    assert (faults, notes, [*numbers]) == ([], ["float16 gives what is not finite."], ["float16"])


@pytest.mark.parametrize(
    ("shares", "says", "kept", "lost"),
    [
        ((0.5, 0.5, 0.5), " and keeps the difference between D_0 and D_1 as far as n = 256", 256, None),
        ((1.5, 0.49, 0.5), ", and from n = 128 on loses the difference between D_0 and D_1", 64, 128),
        ((1.51, 1.0, 1.0), ", and from n = 64 on loses the difference between D_0 and D_1", None, 64),
        ((1.0, 1.0, NAN), ", and from n = 256 on loses the difference between D_0 and D_1", 128, 256),
        ((1.0, Late(), NAN), " and keeps the difference between D_0 and D_1 as far as n = 64", 64, None),
        ((Late(), 1.0, NAN), "", None, None),
    ],
)
def test_a_difference_is_lost_where_rounding_changes_more_than_half_of_it(monkeypatch, shares, says, kept, lost):
    def difference(judge, n, dtype):
        share = shares[(64, 128, 256).index(n)]
        if isinstance(share, Late):
            raise share
        return np.array([[3.0, 4.0]]) * (share if dtype == "float16" else 1)

    monkeypatch.setattr(_lines, "_difference", difference)
    about = _lines.Numerics(judge_of())
    about.numbers["float16"] = {"error": 0.1}
    assert about._loses("float16") == says
    found = {"error": 0.1, "keeps the difference to": kept, "loses the difference from": lost}
    assert about.numbers["float16"] == found
    about = _lines.Numerics(judge_of(most=128))
    about.numbers["float16"] = {}
    about._loses("float16")
    assert about.numbers["float16"]["keeps the difference to"] in (kept, 128)
    assert about.numbers["float16"]["loses the difference from"] in (lost, None)


def test_whether_places_count_is_a_matter_of_a_hundred_thousandth():
    for share, counts in ((0.99e-5, False), (1.01e-5, True)):
        judge = judge_of()

        def attention(q, k, v, share=share):
            out = np.ones_like(v)
            out[0] -= share
            return out

        judge.attention.function = attention
        assert judge.moves_with_order(64) is counts


def test_places_are_looked_at_among_more_tokens_than_a_window_sees_where_as_many_are_taken():
    for most, n in ((512, 512), (500, 128), (64, 24)):
        judge, seen = judge_of(), set()

        def window(q, k, v, most=most, seen=seen):
            assert len(q) <= most
            seen.add(len(q))
            return stand_ins.window(q, k, v, back=200, ahead=200)

        judge.attention.function = window
        del judge.by_place
        assert (judge.by_place, seen) == (n == 512, {n})
    assert [len(x) for x in judge.odd_rows()] == [31] * 3
    judge.attention.length = 64  # whoever takes blocks of 64 alone
    assert [len(x) for x in judge.odd_rows()] == [64] * 3


def test_sums_of_values_and_columns_apart_are_asked_of_the_outputs():
    judge = judge_of()
    (q, k, u), v = judge.rows(24), judge.rows(24, 1)[2]
    assert min(q.min(), k.min()) > 0
    assert np.abs(q).max() < 1
    judge.attention.function = lambda q, k, v: stand_ins.softmax(q, k, v) + 0.125
    del judge.off
    largest = np.abs(stand_ins.softmax(q, k, u + v) + 0.125).max()
    assert judge.off == pytest.approx(0.125 / largest)
    for share, apart in ((0.0099, True), (0.0101, False)):
        judge = judge_of()

        def leaning(q, k, v, share=share):
            out = stand_ins.softmax(q, k, v)
            out[:, -1] += share * out[:, 0]
            return out

        judge.attention.function = leaning
        del judge.apart
        assert judge.apart is apart is judge.linear_in_values
    limits = [judge_of(off=off).linear_in_values for off in (0.01, 0.01 * BEYOND)]
    assert limits == [True, False]
    rounding = {1e-9: 1e-9 / 8, 2.0**-50: 2.0**-52, 0.02: 2.0**-52}  # of what is not linear, none is known
    assert {off: judge_of(off=off).noise for off in rounding} == rounding
    assert judge_of(off=1e-9, jumps=1e-6).noise == 1e-6 / 8
    says = "There are no weights to look at: the outputs are no weighted sums of the values."
    assert _lines.selects(judge_of(off=0.02)) == _lines.Line("selects", "not judged", says, {})


@pytest.mark.parametrize(
    ("moved", "jumps"),
    [
        (lambda r: 0.0249 * (r > 0), 0.0498),
        (lambda r: 0.0251 * (r > 0), 0.0),  # a choice between values, no rounding
        (lambda r: 0.0249 * (r > 1e-6), 0.0498),  # of coarse digits alone
        (lambda r: 0.01 * r, 0.0),
        (lambda r: 0.01 * r**0.82, 0.0),
        (lambda r: 0.01 * (r / 0.002) ** 0.75, "some"),
    ],
)
def test_a_step_stays_as_high_where_the_way_is_a_quarter(moved, jumps):
    judge = judge_of()
    del judge.jumps
    q, _, _ = judge.rows(24)
    judge.attention.function = lambda given, k, v: np.ones_like(v) + moved(np.abs(given - q).max())
    assert judge.jumps > 0.001 if jumps == "some" else judge.jumps == pytest.approx(jumps)


def test_weights_are_read_off_in_columns_of_the_width():
    for n in (10, 18, 37):
        judge = judge_of()
        q, k, _ = judge.rows(n)
        assert np.allclose(_lines.weights_of(judge, q, k), stand_ins.weights(q @ k.T), rtol=1e-13)


def test_the_marks_weight_is_that_of_its_place_and_the_others_median():
    judge = judge_of(stand_ins.causal, by_place=True)
    data = _lines.data_of(64, 18, _lines.STRONG, 16)
    q, k, _ = _lines.inputs(data, 18, 3.0)
    W = stand_ins.causal(q, k, np.eye(64))
    own, others = _lines.mark_weights(judge, data, factor=3.0)
    assert own == pytest.approx(W[16, 16])
    assert others == pytest.approx(np.median(np.delete(W[:, 16], 16)))
    assert others > 0
    assert judge.places(64) == [0, 16, 32, 47, 63]


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (1.0, "100 %"),
        (0.095, "10 %"),
        (0.0949, "1 in 11"),
        (1.1e-9, "1 in 909090909"),
        (1e-9, "1e-09"),
        (0.0, "0"),
        (-0.25, "-0.25"),
        (NAN, "nan"),
        (INF, "inf"),
    ],
)
def test_a_share_is_said_in_words_that_fit_its_size(share, words):
    assert _lines._share(share) == words


def test_a_window_is_counted_where_it_is_less_than_a_quarter():
    assert (_lines._in_all(127, 0, True, 512), _lines._in_all(0, 128, True, 512)) == (": 128 in all", "")
    assert _lines._in_all(2, 3, False, 512) == ": 5 in all"
