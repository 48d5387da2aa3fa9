package secret

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
)

// hidden is what a value shows of itself.
const hidden = "(secret)"

// Value is a secret. However it is printed or encoded, it does not show what it is: where fmt finds one in a field that is
// not exported, and asks no method, it comes to a function.
type Value struct{ bytes func() []byte }

// NewValue makes a value. It keeps the bytes.
func NewValue(b []byte) Value { return Value{func() []byte { return b }} }

// Bytes is the secret itself, for the one call that it is meant for. It is not to be changed.
func (v Value) Bytes() []byte {
	if v.bytes == nil {
		return nil
	}
	return v.bytes()
}

// IsEmpty says that there is no secret, or an empty one.
func (v Value) IsEmpty() bool { return len(v.Bytes()) == 0 }

// Line is the value without the line end that editors and echo leave behind a password.
func (v Value) Line() Value {
	return NewValue(bytes.TrimSuffix(bytes.TrimSuffix(v.Bytes(), []byte("\n")), []byte("\r")))
}

// Format is for every verb of fmt.
func (Value) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, hidden) }

// MarshalText is for JSON, YAML and logs.
func (Value) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// Files are the secret contents of files, by their paths. Printed, they show their paths and sizes.
type Files map[string][]byte

// Format is for every verb of fmt.
func (f Files) Format(s fmt.State, _ rune) {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		fmt.Fprintf(s, "%s (%d bytes) ", name, len(f[name]))
	}
}

// MarshalText is for JSON, YAML and logs.
func (f Files) MarshalText() ([]byte, error) { return fmt.Append(nil, f), nil }
