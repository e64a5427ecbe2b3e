"""A virtual machine with systemd and cgroup v2 that is a complete Kubernetes node with Tessera."""
