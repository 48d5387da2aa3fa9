package verify

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// signerOptions are the options of a line of allowed signers.
type signerOptions struct {
	authority     bool
	namespaces    string    // patterns; empty for all
	after, before time.Time // zero for always; at these times themselves the key is valid
}

// readOptions reads options: names in any case, values in quotes, commas between, each once.
func readOptions(s string, zone *time.Location) (signerOptions, error) {
	var o signerOptions
	var after, before string
	values := []struct {
		name string
		to   *string
	}{{"namespaces", &o.namespaces}, {"valid-after", &after}, {"valid-before", &before}}
next:
	for rest, more := s, true; more; {
		if option, left, found := strings.Cut(rest, ","); strings.EqualFold(option, "cert-authority") {
			o.authority, rest, more = true, left, found
			continue
		}
		for _, v := range values {
			if len(rest) <= len(v.name) || !strings.EqualFold(rest[:len(v.name)+1], v.name+"=") {
				continue
			}
			if *v.to != "" {
				return o, fmt.Errorf("the option %s is there twice", v.name)
			}
			value, left, err := unquote(rest[len(v.name)+1:])
			if err != nil {
				return o, fmt.Errorf("the option %s: %w", v.name, err)
			}
			*v.to = value
			if left != "" && left[0] != ',' {
				return o, fmt.Errorf("the option %s: a comma must follow, not %.20q", v.name, left)
			}
			rest, more = strings.TrimPrefix(left, ","), left != ""
			continue next
		}
		return o, fmt.Errorf("%.40q is no option: say cert-authority, namespaces=\"…\", valid-after=\"…\" or valid-before=\"…\"", rest)
	}
	var err error
	if o.after, err = readTime(after, zone); err != nil {
		return o, fmt.Errorf("the option valid-after: %w", err)
	}
	if o.before, err = readTime(before, zone); err != nil {
		return o, fmt.Errorf("the option valid-before: %w", err)
	}
	if !o.after.IsZero() && !o.before.IsZero() && !o.before.After(o.after) {
		return o, errors.New("valid-before is not after valid-after")
	}
	return o, nil
}

// unquote reads a value in quotes, in which \" stands for a quote.
func unquote(s string) (value, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		return "", "", errors.New("its value must be in quotes")
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && s[i+1] == '"':
			i++
			b.WriteByte('"')
		case s[i] == '"':
			if b.Len() == 0 {
				return "", "", errors.New("its value is empty")
			}
			return b.String(), s[i+1:], nil
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", errors.New("a quote is not closed")
}

// readTime reads YYYYMMDD or YYYYMMDDHHMM[SS], of the zone unless a Z or UTC follows.
func readTime(s string, zone *time.Location) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	digits := s
	for _, utc := range []string{"Z", "UTC"} {
		if n := len(s) - len(utc); n > 0 && strings.EqualFold(s[n:], utc) {
			digits, zone = s[:n], time.UTC
		}
	}
	layouts := map[int]string{8: "20060102", 12: "200601021504", 14: "20060102150405"}
	layout, ok := layouts[len(digits)]
	if ok && strings.Trim(digits, "0123456789") == "" {
		if t, err := time.ParseInLocation(layout, digits, zone); err == nil && t.Unix() >= 0 {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%.30q is no time: write YYYYMMDD or YYYYMMDDHHMM[SS], and a Z after it for UTC", s)
}
