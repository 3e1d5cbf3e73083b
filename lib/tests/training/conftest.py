import os
from contextlib import ExitStack
from importlib.util import find_spec

import pytest

# Without the extra there is nothing to train with.
collect_ignore_glob = [] if find_spec("jax") and find_spec("optax") else ["test_*.py"]
os.environ["JAX_PLATFORMS"] = "cpu"  # the same device on every machine; read when JAX first computes


@pytest.fixture
def jax_as_it_comes():
    """Let a test that calls JAX itself find it as if nobody had set anything."""
    import jax

    enable_x64 = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64
    with ExitStack() as stack:
        for context in (enable_x64(False), jax.disable_jit(False), jax.default_matmul_precision(None)):
            stack.enter_context(context)
        yield
