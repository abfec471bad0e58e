//go:build kubelet_1_34

package main

import "kubelet/internal/reproduction"

func droppedClass() reproduction.Verdict { return reproduction.Absent("no table of classes") }

func deletedClass() reproduction.Verdict { return droppedClass() }
