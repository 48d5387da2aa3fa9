package status

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gitvirt/gitvirt/render/manifest"
)

// TestThePageStaysShort: of very many problems and configs the page shows some, those of this host among them, and says how many
// there are besides.
func TestThePageStaysShort(t *testing.T) {
	s := newScene(t)
	s.converge(web("1Gi", "") + runState("Running"))
	var text strings.Builder
	text.WriteString(web("1Gi", "") + runState("Running"))
	for n := range 300 {
		text.WriteString("---" + strings.ReplaceAll(web("1Gi", ""), "name: web", fmt.Sprintf("name: a%d", n)))
	}
	s.converge(text.String())
	for n := range 70 {
		s.facts.Documents.Problems = append(s.facts.Documents.Problems, manifest.Problem{File: fmt.Sprintf("broken-%d.yaml", n), Message: "is broken"})
	}
	s.latest = Report(s.latest, s.facts)
	body := answer(serve(s), "/").Body.String()
	if n := strings.Count(body, "is broken"); n != maxProblems || !strings.Contains(body, "and 20 more: gitvirt check") {
		t.Errorf("%d problems are shown", n)
	}
	if !strings.Contains(body, "<tr><td>web<td>") || !strings.Contains(body, "and 101 more: <a href=\"api/v1alpha1/configs\">") || strings.Count(body, "nowhere") != maxConfigs-1 {
		t.Errorf("%d configs that run nowhere are shown", strings.Count(body, "nowhere"))
	}
}
