package main

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/gitvirt/gitvirt/render/preference"
)

// referenceOfSystems is the page of the guests' operating systems.
func referenceOfSystems() ([]byte, error) {
	var b strings.Builder
	b.WriteString(`<!-- Made by go run ./cmd/schema from render/preference/os.yaml; do not edit. -->

# Operating systems

A template says which operating system its guests have by an annotation:

` + "```yaml" + `
template:
  metadata: {annotations: {gitvirt.io/os: debian12}}
` + "```" + `

They then get what is listed here, in the terms of KubeVirt's preferences, as far as nothing else says it: a flavour, a preset and the config
win over it. Names are the same in capitals. One that is not here is an error: ` + "`linux`" + ` and ` + "`windows`" + ` are for others.

| name | other names | why |
|---|---|---|
`)
	all := preference.Systems()
	for _, s := range all {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s |\n", s.Name, strings.ReplaceAll(s.Name, ".", ""), strings.Join(s.Aliases, ", "), s.Why)
	}
	for _, s := range all {
		text, err := yaml.Marshal(s.Preference)
		if err != nil {
			return nil, fmt.Errorf("cannot write the preference of %s: %w", s.Name, err)
		}
		fmt.Fprintf(&b, "\n## %s\n\n```yaml\n%s```\n", s.Name, text)
	}
	return []byte(b.String()), nil
}
