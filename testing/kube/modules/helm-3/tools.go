//go:build tools

// Package tools names the programs that this module pins.
package tools

import (
	_ "helm.sh/helm/v3/cmd/helm"
)
