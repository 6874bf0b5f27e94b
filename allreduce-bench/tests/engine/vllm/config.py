"""The configuration that must be set while groups are made."""

import contextlib

current = None


class VllmConfig:
    pass


@contextlib.contextmanager
def set_current_vllm_config(config):
    global current
    current = config
    yield
    current = None
