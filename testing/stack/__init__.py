"""Tessera on a real Kubernetes with simulated GPUs: what the demo and the e2e tests start."""
