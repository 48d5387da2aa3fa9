package manifest

import "k8s.io/apimachinery/pkg/api/resource"

// Quantity is a number of bytes written as in Kubernetes: 2Gi, 500M, 1073741824.
type Quantity = resource.Quantity
