package manifest

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Quantity is a number of bytes written as in Kubernetes: 2Gi, 500M, 1073741824.
type Quantity = resource.Quantity

// plainNumber is a number that means the same to YAML and to a Quantity: no octal, no underscores.
var plainNumber = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)?(\.[0-9]*)?([eE][-+]?[0-9]+)?$`)

// hugeExponent is one that ParseQuantity would need minutes for.
var hugeExponent = regexp.MustCompile(`[eE][-+]?[0-9]{3}`)

// parseQuantity reads a quantity; fault says what is wrong with it and what to write.
func parseQuantity(s string) (q Quantity, fault string) {
	if len(s) <= 64 && strings.ContainsAny(s, "0123456789") && !hugeExponent.MatchString(s) {
		q, err := resource.ParseQuantity(s)
		if err == nil {
			return q, ""
		}
	}
	fault = quoted(s) + " is not a quantity"
	number := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	suffix := strings.TrimRight(strings.TrimSpace(s[len(number):]), "bB")
	if suffix != "" {
		suffix = strings.ToUpper(suffix[:1]) + strings.ToLower(suffix[1:])
	}
	if suffix == "K" {
		suffix = "k"
	}
	if strings.ContainsAny(number, "0123456789") && number+suffix != s && !hugeExponent.MatchString(number) && plainNumber.MatchString(number) && slices.Contains(suffixes(), suffix) {
		return q, fault + "; did you mean " + quoted(number+suffix) + "?"
	}
	return q, fault + "; write a number, or one with a suffix such as Mi, Gi, Ti (of 1024) or M, G, T (of 1000)"
}

func suffixes() []string {
	return []string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "k", "M", "G", "T", "P", "E"}
}

// maxSize is 1 EiB. A quantity that does not fit into 63 bits is cut off there.
const maxSize = 1 << 60

// sizeFault says why a quantity is no size; "" when it is one.
func sizeFault(q Quantity) string {
	if q.Sign() <= 0 {
		return "must be more than 0, such as 10Gi"
	}
	if q.Value() > maxSize {
		return "is a size that nothing has: the most is 1Ei"
	}
	if whole := *resource.NewQuantity(q.Value(), q.Format); whole.Cmp(q) != 0 {
		s := q.String()
		if number, milli := strings.CutSuffix(s, "m"); milli {
			return s + " is thousandths of a byte; did you mean " + quoted(number+"Mi") + "?"
		}
		return "must be a whole number of bytes"
	}
	return ""
}
