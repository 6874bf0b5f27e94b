"""Stands in for SGLang 0.5.23: sums in place by torch's own collectives, 40 us."""

import faults

__version__ = "0.5.23"
faults.at_import()
