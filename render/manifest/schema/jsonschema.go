package schema

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/gitvirt/gitvirt/render/manifest"
)

const (
	draft = "http://json-schema.org/draft-07/schema#"
	// comment says where the files come from, and whose words are in them.
	comment = "Made by go run ./cmd/schema; do not edit. What is said of KubeVirt's and Kubernetes' fields is from the " +
		"documentation in kubevirt.io/api and k8s.io/apimachinery, Apache-2.0."
)

// object is a JSON object; its keys are written in the order of the alphabet.
type object = map[string]any

// JSON returns the JSON Schema (draft 7) of a kind's documents.
func JSON(kind string, docs Docs) ([]byte, error) {
	m := maker{documenter: newDocumenter(docs), definitions: object{}}
	s, err := m.kind(kind)
	if err != nil {
		return nil, err
	}
	s["$schema"], s["$comment"] = draft, comment
	return m.write(s)
}

// JSONOfAll returns the JSON Schema (draft 7) of a document of any kind. Documents that are not of gitvirt's own kinds,
// such as KubeVirt's manifests, are let pass: their schemas are not gitvirt's to give.
func JSONOfAll(docs Docs) ([]byte, error) {
	m := maker{documenter: newDocumenter(docs), definitions: object{}}
	kinds := manifest.Kinds()
	choice := []any{object{
		"if": object{"required": []string{"apiVersion"}, "properties": object{"apiVersion": object{"pattern": "^[Gg][Ii][Tt][Vv][Ii][Rr][Tt]"}}},
		"then": object{"required": []string{"kind"}, "properties": object{
			"apiVersion": object{"const": manifest.APIVersion}, "kind": object{"enum": kinds}}},
	}}
	for _, kind := range kinds {
		s, err := m.kind(kind)
		if err != nil {
			return nil, err
		}
		m.definitions[kind] = s
		choice = append(choice, object{
			"if":   object{"required": []string{"kind"}, "properties": object{"kind": object{"const": kind}}},
			"then": object{"$ref": "#/definitions/" + kind},
		})
	}
	return m.write(object{
		"$schema": draft, "$comment": comment,
		"title": "gitvirt", "description": "A document of a configuration repository.",
		"type": "object",
		"properties": object{
			"apiVersion": object{"description": "The version of the kind's definition.", "examples": []string{manifest.APIVersion}},
			"kind":       object{"description": "The document's kind.", "examples": kinds},
		},
		"allOf": choice,
	})
}

// maker makes one schema file.
type maker struct {
	documenter
	definitions object
}

// template is the definition of a template's spec, which documents of several kinds have.
const template = "Template"

func (m maker) write(s object) ([]byte, error) {
	if len(m.definitions) > 0 {
		s["definitions"] = m.definitions
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(s); err != nil {
		return nil, fmt.Errorf("cannot write the schema: %w", err)
	}
	return b.Bytes(), nil
}

func (m maker) kind(kind string) (object, error) {
	f := manifest.FormOf(kind)
	if f == nil {
		return nil, fmt.Errorf("cannot make the schema of %s: no such kind is read", kind)
	}
	s := m.value(f, false)
	s["title"], s["description"] = kind, m.ofType(f.Type)
	return s, nil
}

// value makes the schema of a value.
func (m maker) value(f *manifest.Form, null bool) object {
	if f.Template {
		if m.definitions[template] == nil {
			m.definitions[template] = m.object(f, true)
		}
		return object{"allOf": []any{object{"$ref": "#/definitions/" + template}}}
	}
	switch f.Is {
	case manifest.NatureObject:
		return m.object(f, null)
	case manifest.NatureMap:
		s := object{"type": types(null, "object"), "additionalProperties": m.value(f.Elem, false)}
		if f.Keys != "" {
			s["propertyNames"] = object{"pattern": f.Keys}
		}
		return s
	case manifest.NatureList:
		return object{"type": types(null, "array"), "items": m.value(f.Elem, false)}
	case manifest.NatureQuantity:
		return object{"type": types(null, "string", "number"), "pattern": f.Pattern}
	case manifest.NatureScalar:
		if f.Type.Name() == "IntOrString" {
			return object{"type": types(null, "integer", "string")}
		}
		return object{"type": types(null, "string")}
	case manifest.NatureAny:
		return object{}
	}
	return m.scalar(f, null)
}

func (m maker) scalar(f *manifest.Form, null bool) object {
	s := object{"type": types(null, string(f.Is))}
	if f.Pattern != "" {
		s["pattern"] = f.Pattern
	}
	if f.Minimum != nil {
		s["minimum"] = *f.Minimum
	}
	if f.Maximum != nil {
		s["maximum"] = *f.Maximum
	}
	if len(f.Values) > 0 {
		var values []any
		for _, v := range f.Values {
			values = append(values, v)
		}
		if null {
			values = append(values, nil)
		}
		s["enum"] = values
	}
	return s
}

func (m maker) object(f *manifest.Form, null bool) object {
	properties, required := object{}, []string{}
	for _, field := range f.Fields {
		p := m.value(field.Form, field.Null)
		if text := m.ofField(field); text != "" {
			p["description"] = text
		}
		if field.Default != nil {
			p["default"] = field.Default
		}
		properties[field.Name] = p
		if field.Required {
			required = append(required, field.Name)
		}
	}
	s := object{"type": types(null, "object"), "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	var all []any
	for _, set := range f.Exclusive {
		all = append(all, atMostOne(set))
	}
	for _, set := range f.Needed {
		all = append(all, object{"anyOf": saying(set)})
	}
	if len(all) > 0 {
		s["allOf"] = all
	}
	return s
}

// atMostOne allows one of the fields to be said.
func atMostOne(fields []string) object {
	said := saying(fields)
	none := object{"not": object{"anyOf": said}}
	return object{"oneOf": append([]any{none}, said...)}
}

// saying has a schema for each of the fields, for objects that say it.
func saying(fields []string) (said []any) {
	for _, name := range fields {
		said = append(said, object{
			"type":       "object", // the value may be null
			"required":   []string{name},
			"properties": object{name: object{"not": object{"enum": []any{nil, "", []any{}}}}},
		})
	}
	return said
}

// types is a type, or a list of types.
func types(null bool, names ...string) any {
	if null {
		names = append(names, "null")
	}
	if len(names) == 1 {
		return names[0]
	}
	return names
}
