// Package adoption makes documents of the domains that a host has, and proves by the agent's own plan that to adopt them
// changes nothing but their record.
package adoption
