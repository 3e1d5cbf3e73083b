import os
import shutil
import tempfile
from contextlib import ExitStack, suppress
from functools import partial
from importlib.util import find_spec

import pytest

# Without the extra there is nothing to train with.
collect_ignore_glob = [] if find_spec("jax") and find_spec("optax") else ["test_*.py"]
os.environ["JAX_PLATFORMS"] = "cpu"  # the same device on every machine; read when JAX first computes
# To compile a training takes longer than the training.  So what the processes of a run have compiled is kept until its
# end, and the next one finds it by its program, by JAX's version, and by all settings that change it.
IN_OTHERS_FOLDER = {"PYTEST_XDIST_WORKER", "JAX_COMPILATION_CACHE_DIR"} <= os.environ.keys()
if not IN_OTHERS_FOLDER:
    os.environ["JAX_COMPILATION_CACHE_DIR"] = tempfile.mkdtemp(prefix="attnsep-compiled-")
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"


def pytest_unconfigure():
    if not IN_OTHERS_FOLDER:
        shutil.rmtree(os.environ["JAX_COMPILATION_CACHE_DIR"], ignore_errors=True)


@pytest.fixture
def compiled_quickly(monkeypatch):
    """Let a test of what is computed do without XLA's optimisations: with them it takes four times as long to compile.

    Most of that time is XLA's way of putting several operations into one loop.
    """
    import jax
    import optax  # noqa: F401  its own functions are compiled inside of others, where JAX allows no options

    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", True)
    with suppress(TypeError, RuntimeError):  # a JAX or an XLA that has no such option
        apart = partial(jax.jit, compiler_options={"xla_cpu_use_fusion_emitters": False})
        apart(lambda: 0)()
        monkeypatch.setattr(jax, "jit", apart)
    yield
    jax.config.update("jax_disable_most_optimizations", before)


@pytest.fixture
def jax_as_it_comes():
    """Let a test that calls JAX itself find it as if nobody had set anything."""
    import jax

    enable_x64 = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64
    with ExitStack() as stack:
        for context in (enable_x64(False), jax.disable_jit(False), jax.default_matmul_precision(None)):
            stack.enter_context(context)
        yield
