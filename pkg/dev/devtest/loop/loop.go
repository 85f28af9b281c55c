// Package loop makes block devices of image files, for tests.
package loop
