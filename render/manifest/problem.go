package manifest

import "fmt"

// Problem is one thing that is wrong with a document, and where.
type Problem struct {
	File string `json:"file"`
	// Line and Column start at 1; 0 is unknown.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Kind and Name are the document's, as far as they can be read.
	Kind string `json:"kind,omitempty"`
	Name string `json:"name,omitempty"`
	// Field is the path of the field, as in spec.template.spec.domain.cpu.cores or spec.networks[0].name.
	Field string `json:"field,omitempty"`
	// Message says what is wrong and what to do.
	Message string `json:"message"`
}

// String is one line: file:line:column: Kind/name: field: message.
func (p Problem) String() string {
	s := p.File
	if p.Line > 0 {
		s += fmt.Sprintf(":%d:%d", p.Line, p.Column)
	}
	if p.Kind != "" || p.Name != "" {
		s += ": " + p.Kind + "/" + p.Name
	}
	if p.Field != "" {
		s += ": " + p.Field
	}
	return s + ": " + p.Message
}
