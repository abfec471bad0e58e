// Package counters reads the kubelet's metrics.
package counters

import (
	"sort"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// Gatherer is a registry.
type Gatherer interface {
	Gather() ([]*dto.MetricFamily, error)
}

// Read flattens counters, gauges and the observation counts of histograms to name{labels}.
func Read(from Gatherer, wanted func(name string) bool) map[string]float64 {
	families, err := from.Gather()
	if err != nil {
		panic(err)
	}
	out := map[string]float64{}
	for _, family := range families {
		if !wanted(family.GetName()) {
			continue
		}
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetName()+"="+label.GetValue())
			}
			sort.Strings(labels)
			name := family.GetName()
			if len(labels) > 0 {
				name += "{" + strings.Join(labels, ",") + "}"
			}
			switch {
			case metric.Counter != nil:
				out[name] = metric.Counter.GetValue()
			case metric.Gauge != nil:
				out[name] = metric.Gauge.GetValue()
			case metric.Histogram != nil:
				out[name+"_count"] = float64(metric.Histogram.GetSampleCount())
			}
		}
	}
	return out
}

// Changes are the values that are others than before.
func Changes(before, now map[string]float64) map[string]float64 {
	out := map[string]float64{}
	for name, value := range now {
		if d := value - before[name]; d != 0 {
			out[name] = d
		}
	}
	return out
}
