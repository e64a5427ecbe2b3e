"""Tests of `tessera run` on simulated GPUs."""
