"""What holds for every test."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# The same examples each time, however busy the machine is: a test that fails, fails for everybody.
# TORCHBUILD_EXPLORE=1 looks further, with new examples each time.
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "explore", deadline=None, max_examples=2000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("explore" if os.environ.get("TORCHBUILD_EXPLORE") else "steady")
