// Package webhook reads what git hosts post after a push: who may have sent it, and which refs moved. It is pure.
package webhook
