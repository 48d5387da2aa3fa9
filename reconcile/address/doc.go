// Package address finds out which IP addresses guests have, beside the passes and at a bounded cost.
package address
