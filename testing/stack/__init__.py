"""Tessera on a real Kubernetes with simulated GPUs, for the demo and the e2e tests."""
