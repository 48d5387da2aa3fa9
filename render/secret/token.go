package secret

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	tokenPrefix = "hmac:"
	tokenBytes  = 16
)

// Token stands for a value wherever it may be seen: in a domain's XML as plans have it, in records, digests and plans. The
// same key and value give the same token, so that a change shows. Without the key nobody can try passwords against it,
// which a plain digest of a short one would allow.
func Token(key, value []byte) string {
	h := hmac.New(sha256.New, key)
	h.Write(value)
	return tokenPrefix + hex.EncodeToString(h.Sum(nil)[:tokenBytes])
}

// IsToken says whether a text has a token's form.
func IsToken(s string) bool {
	digits, ok := strings.CutPrefix(s, tokenPrefix)
	return ok && len(digits) == 2*tokenBytes && strings.Trim(digits, "0123456789abcdef") == ""
}
