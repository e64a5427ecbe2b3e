"""Checks of the alert rules and the dashboard against our tables of metrics, and by promtool."""
