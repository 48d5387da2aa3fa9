package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

func main() {
	var o options
	flag.IntVar(&o.mutations, "mutations", 20, "mutations of each input; 0 for none, -1 for all")
	flag.Uint64Var(&o.seed, "seed", 1, "what the mutations are drawn with")
	flag.BoolVar(&o.asIs, "as-is", false, "do not adapt to QEMU on x86_64 what libvirtd refuses")
	flag.BoolVar(&o.imports, "import", false, "import what libvirtd accepts, and count what comes out without a difference")
	flag.Float64Var(&o.minExact, "min-exact", 100, "the least share of inputs without a false difference, in percent")
	flag.Float64Var(&o.minFound, "min-found", 100, "the least share of mutations found exactly, in percent")
	flag.IntVar(&o.jobs, "jobs", 2, "how many private libvirtd work at once")
	flag.StringVar(&o.cache, "cache", "", "a folder that keeps what libvirtd knows of QEMU for the next time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx, o, flag.Args(), os.Stdout)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(2)
	case !ok:
		os.Exit(1)
	}
}

type options struct {
	mutations          int
	seed               uint64
	asIs, imports      bool
	minExact, minFound float64
	jobs               int
	cache              string
}

// run measures the inputs of the folders, and says whether the shares are what is asked.
func run(ctx context.Context, o options, dirs []string, out io.Writer) (bool, error) {
	if len(dirs) == 0 {
		dir, err := os.MkdirTemp("", "corpus")
		if err != nil {
			return false, err
		}
		defer os.RemoveAll(dir)
		fetched, err := fetch(ctx, dir)
		if err != nil {
			return false, err
		}
		dirs = []string{fetched}
	}
	documents, err := readInputs(dirs)
	if err != nil {
		return false, err
	}
	if o.imports {
		all, err := importAll(ctx, o, documents)
		if err != nil {
			return false, err
		}
		return reportImports(out, o, all), nil
	}
	results, err := measure(ctx, o, documents)
	if err != nil {
		return false, err
	}
	return report(out, o, results), nil
}
