package reconcile

import "github.com/gitvirt/gitvirt/reconcile/plan"

// digests are those of the images of instances, by their places.
func digests(images Images, of []plan.Assessment) map[string]string {
	all := map[string]string{}
	for _, a := range of {
		if a.Instance == nil {
			continue
		}
		for _, v := range a.Instance.Volumes {
			if v.Fetch == nil {
				continue
			}
			if _, asked := all[v.Fetched()]; !asked {
				all[v.Fetched()] = images.Digest(v.Fetched())
			}
		}
	}
	return all
}
