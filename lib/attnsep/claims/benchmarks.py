"""Established benchmarks, and what small trained models answer there."""

from statistics import fmean

from attnsep.claims.recall import SOURCE, stored
from attnsep.learn import table
from attnsep.ledger.framework import at_least, at_most, claim

KERNELS = ("softmax", "linear", "elu+1")
CHAPTER = "benchmarks"

DIGITS, APART, DIGITS_LINEAR = 0.92, 0.007, 0.4


@claim(
    "digits-learnt",
    mark="extension",
    source=SOURCE,
    level="measured",
    chapter=CHAPTER,
    statement=rf"In the stored runs (three seeds each) softmax and elu+1 have mean accuracies above ${DIGITS}$ that "
    rf"differ by less than ${APART}$. Linear attention without a feature map was right in at most a share "
    rf"${DIGITS_LINEAR}$ of the tests in every run.",
    assumes="equal training; read from the stored table",
    control="more of the 500 answers of each run of elu+1 are right, by this",
    violations=(0, 1),
    tests=(table.scores,),
)
def digits_learnt(xp, broken=None):
    found = {kernel: table.scores(stored(), "digits", test="all", kernel=kernel) for kernel in KERNELS}
    softmax, other = fmean(found["softmax"]), fmean(found["elu+1"]) + (broken or 0) / 500
    yield at_least(min(softmax, other), DIGITS)
    yield at_most(abs(softmax - other), APART)
    yield at_most(max(found["linear"]), DIGITS_LINEAR)
