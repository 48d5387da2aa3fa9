// Package status shows what the agent knows: as JSON, as a page, and as metrics.
package status
