// Package gates sets the kubelet's feature gates for one case after another.
package gates

import (
	"fmt"
	"sort"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"

	"kubelet/internal/answer"
	"kubelet/internal/release"
)

// PodLevelManagers is the gate under which managers serve pods as a whole.
const PodLevelManagers = "PodLevelResourceManagers"

// defaults are the gates as the release has them.
var defaults = func() map[string]bool {
	m := map[string]bool{}
	for name, spec := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		m[string(name)] = spec.Default
	}
	return m
}

// known are the defaults, read once: gates may be added while packages are set up.
var known map[string]bool

// changed are the gates that are not as by default.
var changed = map[string]bool{}

// Set makes the gates what a case names; all others are as by default, but gates that build on one that is off are off.
// A gate that this release does not know is off; a case that wants it on cannot be asked.
func Set(named map[string]bool) {
	if known == nil {
		known = defaults()
	}
	want := map[string]bool{}
	for name, on := range named {
		if _, ok := known[name]; ok {
			want[name] = on
		} else if on {
			answer.Unusablef("gates: this release does not know %s", name)
		}
	}
	for grown := true; grown; {
		grown = false
		for name, needs := range release.GateDependencies() {
			if _, ok := want[name]; ok {
				continue
			}
			for _, needed := range needs {
				if on, ok := want[needed]; ok && !on && known[name] {
					want[name], grown = false, true
				}
			}
		}
	}
	next := map[string]bool{}
	for name := range changed {
		next[name] = known[name]
	}
	for name, on := range want {
		next[name] = on
	}
	for name, on := range next {
		if utilfeature.DefaultFeatureGate.Enabled(featuregate.Feature(name)) == on {
			delete(next, name)
		}
	}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(next); err != nil {
		answer.Unusablef("gates: %v", err)
	}
	changed = want
}

// On says whether a gate is on; one that the release does not know is not.
func On(name string) bool {
	_, ok := utilfeature.DefaultMutableFeatureGate.GetAll()[featuregate.Feature(name)]
	return ok && utilfeature.DefaultFeatureGate.Enabled(featuregate.Feature(name))
}

// SetExactly makes the gates what a configuration says, as the kubelet does, and gives the way back.
func SetExactly(named map[string]bool) (restore func(), err error) {
	before := map[string]bool{}
	for name := range named {
		if _, ok := utilfeature.DefaultMutableFeatureGate.GetAll()[featuregate.Feature(name)]; ok {
			before[name] = utilfeature.DefaultFeatureGate.Enabled(featuregate.Feature(name))
		}
	}
	err = utilfeature.DefaultMutableFeatureGate.SetFromMap(named)
	return func() { _ = utilfeature.DefaultMutableFeatureGate.SetFromMap(before) }, err
}

// Table is every gate of the release, one a line: name, stage, default, locked, what it builds on.
func Table() []string {
	needs := release.GateDependencies()
	var lines []string
	for name, spec := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		stage := map[string]string{"ALPHA": "Alpha", "BETA": "Beta", "DEPRECATED": "Deprecated", "": "Stable"}[string(spec.PreRelease)]
		lines = append(lines, fmt.Sprintf("%s\t%s\t%v\t%v\t%v", name, stage, spec.Default, spec.LockToDefault, needs[string(name)]))
	}
	sort.Strings(lines)
	return lines
}
