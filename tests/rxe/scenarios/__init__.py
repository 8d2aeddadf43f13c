# SPDX-License-Identifier: Apache-2.0
"""The scenarios that the lab can show, with the real library on real verbs; see docs/lab.md for the others."""

from . import errors, failback, losses, outages, restarts, setup, sizes, slow  # noqa: F401  each registers its own
