// Package imagecache keeps the images that machines begin as within a size, and never removes one that a disk is an overlay of.
package imagecache
