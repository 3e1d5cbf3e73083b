"""attnsep.tables meets drawn arguments: it is right about them, or refuses them by name."""

import math
from fractions import Fraction

from hypothesis import strategies as st

from attnsep import tables
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import some


@fuzz(tables.shown, number=st.one_of(st.floats(-1e308, 1e308), some(0, 10**14, Fraction(1, 3))))
def test_what_is_shown_has_three_digits(result, number):
    assert math.isclose(float(result), float(number), rel_tol=6e-3) or math.isnan(number)


@fuzz(
    tables.Table,
    header=some(("n", "fires")),
    rows=some((), ((1, 0.5),), ((2, "never"), (3, "always"))),
    about=some("a table"),
    filters=some((), ("n",)),
)
def test_a_table_has_a_line_for_each_row(result, header, rows, **given):
    assert len(repr(result).splitlines()) == 1 + len(rows)
    assert result._repr_html_().count("<tr") == 1 + len(rows)
