"""Evaluation: how well modes find the right skill, on any dataset in BEIR layout."""
