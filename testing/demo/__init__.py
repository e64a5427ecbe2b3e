"""The demo of `./dev demo`, and the comparison of docs/tour.md with a run of it."""
