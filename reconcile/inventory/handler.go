package inventory

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	// DeleteTime bounds a deletion.
	DeleteTime = 5 * time.Minute
	maxRequest = 1 << 20
)

// Handler answers POST /volumes/delete with a Request's Answer. It is for a socket that only this user can reach. The code is
// 200 when there was an answer, also where that is a refusal, and 503 when it has an error.
func (v *Inventory) Handler(others http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /volumes/delete", func(w http.ResponseWriter, r *http.Request) {
		var request Request
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
		d.DisallowUnknownFields()
		a, code := Answer{}, http.StatusOK
		if err := d.Decode(&request); err != nil {
			a.Error, code = fmt.Sprintf("cannot read the request: %v", err), http.StatusBadRequest
		} else {
			ctx, cancel := context.WithTimeout(r.Context(), DeleteTime)
			defer cancel()
			if a = v.Delete(ctx, request); a.Error != "" {
				code = http.StatusServiceUnavailable
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(a) // the asker may have gone
	})
	mux.Handle("/", others)
	return mux
}
