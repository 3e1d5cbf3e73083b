import json
from dataclasses import replace

import pytest

from attnsep import cli
from attnsep.claims import framework, record


def test_claims_lists_every_claim(capsys):
    assert cli.main(["claims"]) == 0
    out = capsys.readouterr().out
    assert all(entry.id in out for entry in framework.claims())


def test_claims_json(capsys):
    assert cli.main(["claims", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in rows] == [entry.id for entry in framework.claims()]
    assert {row["verdict"] for row in rows} == {"holds"}


def test_verify_one_claim_on_another_backend(capsys):
    assert cli.main(["verify", "tensor-trick", "--json", "--backend", "array_api_strict"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["id"], row["verdict"], row["backend"]) == ("tensor-trick", "holds", "array_api_strict")


def test_verify_fails_with_a_claim(capsys, monkeypatch):
    evidence = framework.run(framework.find("tensor-trick"))
    monkeypatch.setattr(cli, "verify", lambda ids, **options: [replace(evidence, verdict="refuted")])
    assert cli.main(["verify", "tensor-trick"]) == 1
    out = capsys.readouterr().out
    assert "FAIL tensor-trick: refuted" in out
    assert out.endswith("0 passed, 1 failed\n")


def test_verify_compare_fails_where_the_record_differs(capsys, monkeypatch):
    monkeypatch.setattr(cli, "read_record", dict)
    assert cli.main(["verify", "tensor-trick", "--compare"]) == 1
    assert "tensor-trick: not in the record" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["verify", "no-such-claim"], ["verify", "def-vec"], ["verify", "--backend", "torch"], [], ["fly"]]
)
def test_bad_usage_exits_with_2_and_says_why_on_stderr(capsys, words):
    try:
        code = cli.main(words)
    except SystemExit as error:
        code = error.code
    captured = capsys.readouterr()
    assert code == 2
    assert captured.err
    assert not captured.out


def test_a_backend_that_cannot_run_is_bad_usage(capsys, monkeypatch):
    monkeypatch.setattr(cli, "namespace", lambda backend: (_ for _ in ()).throw(RuntimeError("CuPy cannot run here")))
    assert cli.main(["verify", "--backend", "cupy"]) == 2
    assert capsys.readouterr().err == "attnsep: CuPy cannot run here\n"


def test_the_record_can_be_elsewhere(monkeypatch, tmp_path):
    monkeypatch.setenv("ATTNSEP_RECORD", str(tmp_path / "none.json"))
    assert record.read_record() == {}
