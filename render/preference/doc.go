// Package preference says what lies below a machine's own words: KubeVirt's instancetypes, which a machine must not
// contradict, its preferences, which yield to the machine, and what guests of known operating systems need, which is
// written as preferences too.
package preference
