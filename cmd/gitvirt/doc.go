// Command gitvirt runs virtual machines on libvirt as a git repository says: it is the agent, and the tools around it.
package main
