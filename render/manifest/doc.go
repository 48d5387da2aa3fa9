// Package manifest reads the documents of a configuration repository strictly, and reports every problem in them with
// file, line, column and field.
//
// The template of a config is written in the terms of kubevirt.io/api's VirtualMachineInstanceSpec. It is kept as the
// tree that was written (Tree) until it is completed, because a flavour and a config are merged by what each of them
// says, and a typed struct cannot tell an unsaid field from one that says zero.
package manifest
