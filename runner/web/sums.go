package web

import (
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/runner/image"
)

// maxSums is how large a file of checksums may be, in bytes: a large release has some hundred lines.
const maxSums = 4 << 20

// The lines of sha256sum and sha512sum (coreutils' manual, "cksum output modes"), as they write them and with --tag, which is
// BSD's form.
var (
	plainLine  = regexp.MustCompile(`^\\?([0-9a-fA-F]+) [ *](.+)$`)
	taggedLine = regexp.MustCompile(`^\\?([A-Za-z0-9/-]+) \((.+)\) = ([0-9a-fA-F]+)$`)
	bareLine   = regexp.MustCompile(`^[0-9a-fA-F]{64}([0-9a-fA-F]{64})?$`)
)

// findSum finds a file's checksum by its name: sha512:… if there is one, otherwise sha256:….
func findSum(text, name string) (string, error) {
	found := map[string][]string{} // by algorithm
	weak := false
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for _, line := range lines {
		var algorithm, sum, of string
		if m := taggedLine.FindStringSubmatch(line); m != nil {
			algorithm, of, sum = strings.ToLower(m[1]), m[2], m[3]
		} else if m := plainLine.FindStringSubmatch(line); m != nil {
			sum, of = m[1], m[2]
		} else {
			continue
		}
		if path.Base(of) != name {
			continue
		}
		got := withAlgorithm(sum)
		if got == "" || algorithm != "" && !strings.HasPrefix(got, algorithm+":") {
			weak = true
			continue
		}
		kind, _, _ := strings.Cut(got, ":")
		if !slices.Contains(found[kind], got) {
			found[kind] = append(found[kind], got)
		}
	}
	if text := strings.TrimSpace(text); len(found) == 0 && !weak && bareLine.MatchString(text) {
		return withAlgorithm(text), nil
	}
	for _, kind := range []string{"sha512", "sha256"} {
		switch list := found[kind]; {
		case len(list) == 1:
			return list[0], nil
		case len(list) > 1:
			return "", unusable("the checksums have several for %s: say sha256 or sha512 instead", name)
		}
	}
	if weak {
		return "", unusable("the checksums have %s with neither SHA-256 nor SHA-512, and no other is strong enough", name)
	}
	return "", unusable("the checksums have no line for %s", name)
}

// withAlgorithm is a checksum with what it is one by, as its length says; empty when that is neither SHA-256 nor SHA-512.
func withAlgorithm(sum string) string {
	raw, err := hex.DecodeString(sum)
	switch {
	case err != nil:
		return ""
	case len(raw) == 32:
		return "sha256:" + strings.ToLower(sum)
	case len(raw) == 64:
		return "sha512:" + strings.ToLower(sum)
	}
	return ""
}

func unusable(format string, args ...any) error {
	return fmt.Errorf("%w: %w", image.ErrUnusable, fmt.Errorf(format, args...))
}
