"""Ends before it has done what the scenario is about."""
