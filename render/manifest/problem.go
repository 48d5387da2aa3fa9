package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

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
	// In is the document, when the problem's line is still to be found (see Locate); nil when it is known.
	In *Origin `json:"-"`
	// Locked says that the document is sound, and that this host cannot use a secret that it refers to.
	Locked bool `json:"-"`
}

// Problem is one of a field of the document.
func (h *Header) Problem(field, message string) Problem {
	return Problem{File: h.At.File, Kind: h.Written.Kind, Name: h.Metadata.Name, Field: field, Message: message, In: &h.At}
}

// String is one line: file:line:column: Kind/name: field: message.
func (p Problem) String() string {
	s := p.File
	if p.Line > 0 {
		s += fmt.Sprintf(":%d:%d", p.Line, p.Column)
	}
	switch {
	case p.Kind != "" && p.Name != "":
		s += ": " + p.Kind + "/" + p.Name
	case p.Kind != "" || p.Name != "":
		s += ": " + p.Kind + p.Name
	}
	if p.Field != "" {
		s += ": " + p.Field
	}
	return s + ": " + p.Message
}

// FieldProblem is a problem whose place is a field's path only; Locate finds its line.
type FieldProblem struct {
	Field   string
	Message string
}

// Error is the field and the message.
func (p FieldProblem) Error() string {
	if p.Field == "" {
		return p.Message
	}
	return p.Field + ": " + p.Message
}

// sortProblems puts problems in the order in which a reader of the files meets them.
func sortProblems(ps []Problem) {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			strings.Compare(a.Field, b.Field), strings.Compare(a.Message, b.Message))
	})
}
