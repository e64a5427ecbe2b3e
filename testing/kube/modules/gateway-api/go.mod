module tessera.dev/testing/kube/gateway-api

go 1.26.5

// Only the files of its custom resource definitions are used.
require sigs.k8s.io/gateway-api v1.6.3
