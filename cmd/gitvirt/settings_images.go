package main

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	hostpolicy "github.com/gitvirt/gitvirt/reconcile/policy"
	"github.com/gitvirt/gitvirt/runner"
)

// images says how the images are fetched and kept that machines begin as; only the file has it.
type images struct {
	// AtOnce is how many are fetched at once.
	AtOnce int `yaml:"atOnce"`
	// Bandwidth is how many bytes a second they take together, such as 100Mi; "0" is no bound.
	Bandwidth string `yaml:"bandwidth"`
	// CacheSize is how many bytes they may take on the disk, such as 50Gi; "0" is no bound. One that is in use is kept even so.
	CacheSize string `yaml:"cacheSize"`
}

func defaultImages() images { return images{AtOnce: 2, Bandwidth: "100Mi", CacheSize: "50Gi"} }

// leastBandwidth is what a fetch needs to be told from one that has stopped.
const leastBandwidth = 64 << 10

func (i images) validate() error {
	var errs []error
	if i.AtOnce < 1 || i.AtOnce > 100 {
		errs = append(errs, fmt.Errorf("images.atOnce: %d: say 1 to 100", i.AtOnce))
	}
	bandwidth, err := amount("images.bandwidth", i.Bandwidth)
	if err == nil && bandwidth != 0 && bandwidth < leastBandwidth {
		err = fmt.Errorf("images.bandwidth: %q: say 64Ki or more, in bytes a second, or 0 for no bound", i.Bandwidth)
	}
	_, err2 := amount("images.cacheSize", i.CacheSize)
	return errors.Join(append(errs, err, err2)...)
}

// amount is a number of bytes.
func amount(key, text string) (int64, error) {
	bad := fmt.Errorf("%s: %q is no amount: say one as 64Gi, or 0 for no bound", key, text)
	// An exponent of many digits takes the parser minutes.
	if len(text) > 32 || strings.ContainsAny(text, "eE") && !strings.HasSuffix(text, "Ei") {
		return 0, bad
	}
	q, err := resource.ParseQuantity(text)
	if err != nil || q.Sign() < 0 {
		return 0, bad
	}
	return q.Value(), nil
}

// runner is how the runner takes it; validate has seen it.
func (i images) runner(dir string, allowed hostpolicy.Policy) runner.Images {
	bandwidth, _ := amount("", i.Bandwidth)
	size, _ := amount("", i.CacheSize)
	return runner.Images{CacheDir: dir, CacheSize: size, AtOnce: i.AtOnce, Bandwidth: bandwidth, Named: allowed.NamesImage}
}
