package main

// Which function answers which kind of case.

import (
	"kubelet/internal/answer"
	"kubelet/internal/gates"
)

func execute(c *Case) any {
	gates.Set(c.Gates)
	switch c.Kind {
	case "hints":
		return runHints(c)
	case "seq":
		return runSeq(c)
	case "start":
		return runStart(c)
	case "checkpoint":
		return runCheckpoint(c)
	case "reserved":
		return runReserved(c)
	case "flag":
		return runFlag(c)
	case "quantity":
		return runQuantity(c)
	case "config":
		return runConfig(c)
	}
	panic(answer.Unusable("unknown kind " + c.Kind))
}
