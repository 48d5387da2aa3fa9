package web

import (
	"strings"
	"testing"
)

// FuzzSums: whatever a list of checksums says, what is found is a checksum, or nothing.
func FuzzSums(f *testing.F) {
	sum := strings.Repeat("0f", 32)
	for _, seed := range []string{"", sum, sum + "  disk", sum + " *./a/disk\r\n", "SHA512 (disk) = " + sum + sum, "SHA256 (disk) = " + sum, "\\" + sum + "  di\\\\nsk"} {
		f.Add(seed, "disk")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		got, err := findSum(text, name)
		if err != nil {
			if got != "" {
				t.Errorf("%q and %v", got, err)
			}
			return
		}
		kind, digits, _ := strings.Cut(got, ":")
		if withAlgorithm(digits) != got || kind != "sha256" && kind != "sha512" || !strings.Contains(strings.ToLower(text), digits) {
			t.Errorf("%q of %q", got, text)
		}
	})
}

// FuzzContentRange: a range that is read is one.
func FuzzContentRange(f *testing.F) {
	for _, seed := range []string{"bytes 0-1/2", "bytes 5-9/*", "bytes */5", "bytes -1-2/3", "octets 0-1/2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if from, total, ok := contentRange(text); ok && (from < 0 || total != -1 && total <= from) {
			t.Errorf("%q is from %d of %d", text, from, total)
		}
	})
}
