"""The alarms that sampled cases state are true: exact probabilities, at alarms large enough to matter."""

from math import comb

import pytest

from attnsep.ledger import sampled
from attnsep.ledger.record import read_record

pytestmark = pytest.mark.usefixtures("nothing_set")

DRAWS = 20


def refuted(p, case):
    """Probability that draws with success probability p refute the case."""
    law = [comb(DRAWS, k) * p**k * (1 - p) ** (DRAWS - k) for k in range(DRAWS + 1)]
    return sum(share for k, share in enumerate(law) if case(k).verdict == "refuted")


@pytest.mark.slow
@pytest.mark.parametrize("alarm", [0.2, 0.01])
@pytest.mark.parametrize("p", [0.02, 0.3, 0.9])
def test_a_true_statement_is_refuted_with_the_stated_probability_at_most(p, alarm):
    cases = (
        lambda k: sampled.inside_clopper_pearson(k, DRAWS, p, alarm),
        lambda k: sampled.not_above(k, DRAWS, p, alarm),
        lambda k: sampled.surely_inside(k, DRAWS, p, 1, alarm),
        lambda k: sampled.surely_inside(k, DRAWS, 0, p, alarm),
        lambda k: sampled.surely_inside(k, DRAWS, p, p + 0.05, alarm),
    )
    for case in cases:
        assert case(1).alarm == alarm
        assert refuted(p, case) <= alarm
    assert refuted(p, cases[1]) > 0 or p == 0.9  # not by never refuting anything


def test_a_sampled_case_says_what_it_reached():
    cases = (
        sampled.inside_clopper_pearson(5, 10, 0.5, n=3),
        sampled.not_above(5, 10, 0.5, n=3),
        sampled.surely_inside(5, 10, 0.1, 0.9, n=3),
        sampled.same_probability(5, 5, 10, n=3),
    )
    assert [case.reached for case in cases] == [{"n": 3}] * 4


def test_two_frequencies_of_one_probability_meet():
    alarm, p, draws = 0.2, 0.3, 10
    law = [comb(draws, k) * p**k * (1 - p) ** (draws - k) for k in range(draws + 1)]
    pairs = [(i, j) for j in range(draws + 1) for i in range(j)]
    cases = {pair: sampled.same_probability(*pair, draws, alarm) for pair in pairs}
    wrong = sum(2 * law[i] * law[j] for (i, j), case in cases.items() if case.verdict == "refuted")
    assert 0 < wrong <= cases[0, 1].alarm == 2 * alarm


def test_a_sample_that_cannot_tell_leaves_the_case_undecided():
    assert sampled.surely_inside(10, DRAWS, 0.45, 1).verdict == "undecided"
    assert sampled.surely_inside(10, DRAWS, 0, 0.55).verdict == "undecided"
    assert sampled.surely_inside(DRAWS, DRAWS, 0.3, 1).verdict == "holds"
    assert sampled.surely_inside(0, DRAWS, 0.7, 1).verdict == "refuted"


@pytest.mark.parametrize("draws", [DRAWS, 100_000])
def test_a_law_of_0_or_1_allows_no_exception(draws):
    """Among as many draws as there are anywhere."""
    assert sampled.inside_clopper_pearson(0, draws, 0.0).verdict == "holds"
    assert sampled.inside_clopper_pearson(1, draws, 0.0).verdict == "refuted"
    assert sampled.inside_clopper_pearson(draws, draws, 1.0).verdict == "holds"
    assert sampled.inside_clopper_pearson(draws - 1, draws, 1.0).verdict == "refuted"
    assert sampled.not_above(1, draws, 0.0).verdict == "refuted"


@pytest.mark.parametrize(("draws", "k"), [(10, 10), (10, 0), (12, 11)])
def test_an_interval_refutes_from_half_its_alarm_on_each_side(draws, k):
    tail = min(sum(comb(draws, j) for j in range(k, draws + 1)), sum(comb(draws, j) for j in range(k + 1))) / 2**draws
    assert sampled.inside_clopper_pearson(k, draws, 0.5, alarm=2.1 * tail).verdict == "refuted"
    assert sampled.inside_clopper_pearson(k, draws, 0.5, alarm=1.9 * tail).verdict == "holds"
    if 2 * k > draws:
        assert sampled.not_above(k, draws, 0.5, alarm=1.1 * tail).verdict == "refuted"
        assert sampled.not_above(k, draws, 0.5, alarm=0.9 * tail).verdict == "holds"


@pytest.mark.parametrize("case", [sampled.inside_clopper_pearson, sampled.not_above])
def test_what_no_double_is_small_enough_for_is_refuted(case):
    assert case(1000, 1000, 1e-3).verdict == "refuted"
    assert sampled.not_above(1000, 1000, 1.0).verdict == "holds"


def test_both_ends_of_a_range_count_unless_every_probability_keeps_them():
    assert [sampled.surely_inside(k, 1000, 0, 0.4).verdict for k in (900, 420, 100)] == [
        "refuted",
        "undecided",
        "holds",
    ]
    assert sampled.surely_inside(500, 1000, 0.3, 0.51).verdict == "undecided"
    assert sampled.surely_inside(500, 1000, 0.49, 0.7).verdict == "undecided"
    assert sampled.surely_inside(500, 1000, 0.3, 0.7).verdict == "holds"
    assert sampled.surely_inside(0, 1000, 0, 0.7).margin > 0.6
    assert sampled.surely_inside(1000, 1000, 0.3, 1).margin > 0.6


def test_a_whole_run_refutes_a_true_claim_less_than_once_in_a_million():
    alarms = [entry.get("alarm", 0) for entry in read_record().values()]
    assert 0 < sum(alarms) <= 1e-6, "of all sampled claims together; draw more, or allow each one less"
