// Package plan compares the wanted instances with the observed domains, and says as data what to do, and why.
package plan
