"""Fixtures for tests of detached campaigns."""

from __future__ import annotations

from tests.campaign.conftest import home_with_testbed

__all__ = ["home_with_testbed"]
