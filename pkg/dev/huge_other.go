//go:build !linux

package dev

func adviseHuge([]byte) {}
