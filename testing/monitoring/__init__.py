"""Alert rules and dashboard against our tables of metrics, and promtool to judge them."""
