package secret

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// manifest is a Secret of Kubernetes.
type manifest struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Data       map[string]string `json:"data"`
	StringData map[string]string `json:"stringData"`
}

// Find is the value in the content of an opened file. That is the whole content, or, where the content is a Secret of
// Kubernetes, the value of one of its keys: the one that is said, else the first of the usual ones that it has, else its
// only one. The errors say nothing of values.
func Find(content Value, key string, usual ...string) (Value, error) {
	s, ok := readManifest(content.Bytes())
	if !ok {
		if key != "" {
			return Value{}, errors.New("holds no Secret manifest, so it has no keys; take out key, or encrypt a manifest of kind Secret")
		}
		return content, nil
	}
	keys := slices.Sorted(maps.Keys(s.StringData))
	for name := range s.Data {
		if !slices.Contains(keys, name) {
			keys = append(keys, name)
		}
	}
	slices.Sort(keys)
	if key == "" {
		for _, name := range usual {
			if slices.Contains(keys, name) {
				key = name
				break
			}
		}
	}
	if key == "" && len(keys) == 1 {
		key = keys[0]
	}
	if key == "" {
		return Value{}, fmt.Errorf("holds a Secret with %d keys; say which with key", len(keys))
	}
	if text, ok := s.StringData[key]; ok {
		return NewValue([]byte(text)), nil
	}
	encoded, ok := s.Data[key]
	if !ok {
		return Value{}, fmt.Errorf("holds a Secret without the key %q", key)
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil {
		return Value{}, fmt.Errorf("holds a Secret whose data of the key %q is no base64", key)
	}
	return NewValue(raw), nil
}

// readManifest reads a Secret; ok is false for anything else.
func readManifest(text []byte) (manifest, bool) {
	var s manifest
	if !strings.Contains(string(text), "Secret") || yaml.Unmarshal(text, &s) != nil {
		return manifest{}, false
	}
	return s, s.Kind == "Secret" && s.APIVersion == "v1"
}
