"""attnsep.ledger.record meets drawn arguments: it is right about them, or refuses them by name."""

import json

from hypothesis import strategies as st

from attnsep.ledger import record
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import EVIDENCE, some

RECORDED = EVIDENCE.to_json()


@fuzz(record.require_record, record=some({}, {"tensor-trick": RECORDED}), fields=st.just({"verdict"}), kept={"fields"})
def test_a_record_passes(result, record, fields):
    assert result is record


@fuzz(record.record_text, evidence=some([EVIDENCE], []))
def test_a_record_has_a_row_for_each_claim(result, evidence):
    assert [row["id"] for row in json.loads(result)] == ["tensor-trick"] * len(evidence)


@fuzz(record.differences, evidence=some([EVIDENCE], []), record=some({}, {"tensor-trick": RECORDED}))
def test_differences_are_sentences(result, evidence, record):
    assert all(isinstance(sentence, str) for sentence in result)
