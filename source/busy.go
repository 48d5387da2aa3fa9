package source

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// BusyError means that the server asked to be left alone for a while: 429 or 503 with Retry-After (RFC 9110, 10.2.3).
type BusyError struct {
	Status string
	// Wait is how long, from when the answer came. It is bounded by an hour: a server may err too.
	Wait time.Duration
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("the server answers %s and asks for %v of rest", e.Status, e.Wait)
}

const maxRetryAfter = time.Hour

// retryAfter reads the header's value, seconds or a date; 0 when there is none or it cannot be read.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(0, min(date.Sub(now), maxRetryAfter))
	}
	return 0
}
