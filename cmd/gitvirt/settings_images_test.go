package main

import (
	"strings"
	"testing"
)

func TestImagesSettings(t *testing.T) {
	if err := defaultImages().validate(); err != nil {
		t.Error(err)
	}
	for want, i := range map[string]images{
		"images.atOnce: 0":                           {0, "1Mi", "1Gi"},
		`images.bandwidth: "1Ki": say 64Ki or more`:  {1, "1Ki", "1Gi"},
		`images.bandwidth: "fast" is no amount`:      {1, "fast", "1Gi"},
		`images.cacheSize: "-1" is no amount`:        {1, "0", "-1"},
		`images.cacheSize: "1e99999" is no amount`:   {1, "0", "1e99999"},
		`images.cacheSize: "" is no amount: say one`: {1, "0", ""},
	} {
		if err := i.validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v gives %v, want %s", i, err, want)
		}
	}
}
