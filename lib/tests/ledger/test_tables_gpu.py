import json

import attnsep.claims  # noqa: F401 – enters them into the ledger
from attnsep.ledger.framework import claims
from attnsep.ledger.tables import gpu_table

FIRST, SECOND, *OTHERS = claims()
SIZE = {"mechanism": "softmax", "library": "attnsep", "n": 8, "d": 66, "dtype": "float64"}
RUN = {
    "device": "Some GPU",
    "date": "2026-01-31",
    "tests": {"passed": 300, "failed": 0, "skipped": 4, "seconds": 20.5},
    "notebooks": None,
    "claims": {
        "rows": [
            {"id": FIRST.id, "verdict": "holds", "as_expected": True, "seconds": 0.1},
            {"id": SECOND.id, "verdict": "refuted", "as_expected": False, "seconds": 0.1},
            {"id": "a-claim-of-the-past", "verdict": "holds", "as_expected": True, "seconds": 0.1},
        ],
        "differ_from_record": ["a sentence"],
    },
    "bench": {
        "numpy": {"versions": {"Python": "3.12.1"}, "rows": [SIZE | {"median": 0.00812, "memory": 70 * 2**20}]},
        "cupy": {"versions": {"Python": "3.12.1", "CuPy": "14.2.0"}, "rows": [SIZE | {"median": 2e-4, "memory": None}]},
    },
}


def shown(tmp_path, **changes):
    path = tmp_path / "gpu.json"
    path.write_text(json.dumps(RUN | changes))
    return {str(name): value for name, value in gpu_table(path).rows}


def test_without_a_file_nothing_was_run(tmp_path):
    assert "not run yet" in repr(gpu_table(tmp_path / "gpu.json"))


def test_the_facts_of_a_run(tmp_path):
    rows = shown(tmp_path)
    assert (rows["device"], rows["day (UTC)"]) == ("Some GPU", "2026-01-31")
    assert rows["versions (cupy)"] == "Python 3.12.1, CuPy 14.2.0"
    assert rows["tests"] == "300 passed, 0 failed, 4 skipped in 20.5 s"
    assert rows["notebook cells"] == "left out: no Jupyter there"
    assert rows["claims that differ from the stored record"] == 1
    assert rows["softmax, n = 8, d = 66, float64"] == "attnsep (numpy) 8.12 ms and 70 MiB, attnsep (cupy) 0.2 ms"


def test_timings_that_broke_off_leave_the_rest(tmp_path):
    rows = shown(tmp_path, bench=None)
    assert rows["claims"] == f"1 of {len(OTHERS) + 2} as expected"
    assert "softmax, n = 8, d = 66, float64" not in rows


def test_each_claim_of_the_ledger_has_its_verdict(tmp_path):
    rows = shown(tmp_path)
    assert rows[FIRST.id] == "holds"
    assert rows[SECOND.id] == "refuted – NOT AS EXPECTED"
    assert {rows[entry.id] for entry in OTHERS} == {"not run yet"}
    assert "a-claim-of-the-past" not in rows
    assert rows["claims"] == f"1 of {len(OTHERS) + 2} as expected"


def test_notebooks_are_counted_where_they_were_run(tmp_path):
    part = {"passed": 90, "failed": 1, "skipped": 0, "seconds": 30}
    assert shown(tmp_path, notebooks=part)["notebook cells"] == "90 passed, 1 failed, 0 skipped in 30 s"


def test_verdicts_link_to_their_statements(tmp_path):
    path = tmp_path / "gpu.json"
    path.write_text(json.dumps(RUN))
    assert f'<a href="{FIRST.chapter}.html#{FIRST.id}">' in gpu_table(path)._repr_html_()


def test_what_had_no_time_left_says_so_and_is_no_failure(tmp_path):
    late = {"id": SECOND.id, "verdict": "not run: the time was over", "as_expected": None}
    claims_of_run = RUN["claims"] | {"rows": [RUN["claims"]["rows"][0], late]}
    rows = shown(tmp_path, claims=claims_of_run, tests=RUN["tests"] | {"stopped": True})
    assert rows[SECOND.id] == "not run: the time was over"
    assert rows["claims"].startswith("1 of ")
    assert rows["tests"].endswith("20.5 s, then the time was over")
