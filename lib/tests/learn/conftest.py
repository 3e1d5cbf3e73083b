from importlib.util import find_spec

# Without the extra there is nothing to train with.
collect_ignore_glob = [] if find_spec("jax") and find_spec("optax") else ["test_*.py"]
