import pytest

from attnsep.reportcard import _lines


@pytest.fixture(autouse=True, scope="module")
def small():
    """Fewer tokens and networks, so that a card takes a tenth of a second."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("MOST_COARSE", 256), ("NETWORKS", 2000), ("PAIRS", (4, 16, 64))):
            patch.setattr(_lines, name, value)
        yield
