package policy

import "maps"
import "slices"

// EachRow calls with the rows of the table, sorted by path.
func EachRow(f func(path string, attrs []string)) {
	rows := table()
	for _, path := range slices.Sorted(maps.Keys(rows)) {
		f(path, slices.Sorted(maps.Keys(rows[path].attrs)))
	}
}

// Knows says whether the table has a path, and an attribute of it where one is given.
func Knows(path, attr string) bool {
	r, ok := rowOf(path)
	if !ok || r.free || r.refused != "" || attr == "" {
		return ok
	}
	_, ok = r.attrs[attr]
	return ok
}
