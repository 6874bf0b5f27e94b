"""Stands in for vLLM 0.32: its own kernel up to 8 KiB, the vendor's library above, both out of place."""

import faults

__version__ = "0.32.0"
faults.at_import()
