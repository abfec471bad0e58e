//go:build !kubelet_1_37 && !kubelet_1_38

package main

import "kubelet/internal/reproduction"

func numaGaps() reproduction.Verdict { return reproduction.Absent("no helper for numaNode") }
