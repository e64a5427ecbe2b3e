//go:build tools

// Package tools names the programs that this module pins.
package tools

import (
	_ "k8s.io/kubernetes/cmd/kubeadm/app"
)
