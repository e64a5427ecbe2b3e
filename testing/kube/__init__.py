"""A real Kubernetes for tests: see README.md. Start at `cluster.Cluster`."""
