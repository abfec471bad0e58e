package main

// Cases of the manager's parts: distances, masks, hints.

import (
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager/bitmask"

	"kubelet/internal/hints"
)

func orEmpty(bits []int) []int {
	if bits == nil {
		return []int{}
	}
	return bits
}

func runNUMAInfo(c *Case) any {
	ni, err := topologymanager.NewNUMAInfo(cadvisorNodes(c.Nodes), topologymanager.PolicyOptions{PreferClosestNUMA: true})
	if err != nil {
		return map[string]string{"error": err.Error()}
	}
	a, b := hints.Mask(orEmpty(c.A)), hints.Mask(orEmpty(c.B))
	return map[string]any{
		"average_a": ni.NUMADistances.CalculateAverageFor(a), "average_b": ni.NUMADistances.CalculateAverageFor(b),
		"closest": hints.Bits(ni.Closest(a, b)), "narrowest": hints.Bits(ni.Narrowest(a, b)),
		"default": hints.Bits(ni.DefaultAffinityMask()),
	}
}

func runBitmask(c *Case) any {
	m, err := bitmask.NewBitMask(c.A...)
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	b, err := bitmask.NewBitMask(c.B...)
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	opErrs := []string{}
	for _, o := range c.Ops {
		var e error
		switch o.Op {
		case "add":
			e = m.Add(o.Bits...)
		case "remove":
			e = m.Remove(o.Bits...)
		case "and":
			m.And(hints.Mask(orEmpty(o.Bits)))
		case "or":
			m.Or(hints.Mask(orEmpty(o.Bits)))
		case "clear":
			m.Clear()
		case "fill":
			m.Fill()
		}
		if e != nil {
			opErrs = append(opErrs, e.Error())
		} else {
			opErrs = append(opErrs, "")
		}
	}
	return map[string]any{
		"op_errors": opErrs, "bits": hints.Bits(m), "count": m.Count(), "empty": m.IsEmpty(), "string": m.String(), "string_b": b.String(),
		"equal": m.IsEqual(b), "narrower": m.IsNarrowerThan(b), "less": m.IsLessThan(b), "greater": m.IsGreaterThan(b),
		"and": hints.Bits(bitmask.And(m, b)), "or": hints.Bits(bitmask.Or(m, b)), "any_set": m.AnySet(c.B),
		"is_set": []bool{m.IsSet(-1), m.IsSet(0), m.IsSet(63), m.IsSet(64)},
	}
}

func runHintCmp(c *Case) any {
	a, b := hints.Of(c.HA.Mask, c.HA.Preferred), hints.Of(c.HB.Mask, c.HB.Preferred)
	out := map[string]any{"equal": a.IsEqual(b)}
	func() {
		defer func() {
			if r := recover(); r != nil {
				out["less_panics"] = true
			}
		}()
		out["less"] = a.LessThan(b)
	}()
	return out
}

func runIterate(c *Case) any {
	seq := [][]int{}
	bitmask.IterateBitMasks(c.Bits, func(m bitmask.BitMask) { seq = append(seq, hints.Bits(m)) })
	return map[string]any{"masks": seq}
}
