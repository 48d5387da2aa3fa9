package sandbox

import (
	"context"
	"slices"
)

// Isolations names the ways to run the supervisor, for tests of each.
func Isolations() []string { return []string{"own PIDs", "user namespace", "nothing"} }

// StartAs starts a sandbox in one of the ways.
func StartAs(ctx context.Context, opts Options, way string) (*Sandbox, error) {
	ways := append(isolations(0), isolations(1000)[1])
	i := slices.Index(Isolations(), way)
	return start(ctx, opts, ways[i:i+1])
}
