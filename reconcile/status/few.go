package status

import (
	"fmt"
	"slices"

	"github.com/gitvirt/gitvirt/reconcile/plan"
	"github.com/gitvirt/gitvirt/render/manifest"
)

// What the page shows of lists that may be very long: a repository may have many times what one host runs, and a page that takes
// long is read by nobody.
const (
	maxProblems = 50
	maxConfigs  = 200
)

// first are the problems that are shown, and more says of the others how many they are.
func first(problems []manifest.Problem) []manifest.Problem {
	return problems[:min(len(problems), maxProblems)]
}
func more(problems int) int { return max(problems-maxProblems, 0) }

// someConfigs are configs for the page.
type someConfigs struct {
	List []Config
	// More says how many there are besides, and where.
	More string
}

// fewConfigs are the configs that the page shows: those of machines on this host come first when there are too many. It is nil
// when there are none.
func fewConfigs(s *Snapshot) *someConfigs {
	all := s.Configs()
	if len(all) == 0 {
		return nil
	}
	if len(all) <= maxConfigs {
		return &someConfigs{List: all}
	}
	elsewhere := func(c Config) bool {
		return !slices.ContainsFunc(c.RunStates, func(r RunState) bool { return r.Phase != plan.Phase("") })
	}
	here := slices.DeleteFunc(slices.Clone(all), elsewhere)
	rest := slices.DeleteFunc(all, func(c Config) bool { return !elsewhere(c) })
	list := append(here, rest[:max(min(len(rest), maxConfigs-len(here)), 0)]...)
	return &someConfigs{list, fmt.Sprintf("and %d more", len(here)+len(rest)-len(list))}
}
