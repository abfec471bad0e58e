package main

// Cases of whole managers that start from a file or from nothing, and of the file itself.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sort"

	"kubelet/internal/gates"
	"kubelet/internal/release"
	"kubelet/internal/scratch"
)

func execStart(c *Case) any {
	dir := scratch.Folder("cpu-")
	defer os.RemoveAll(dir)
	if c.File != nil {
		if err := os.WriteFile(filepath.Join(dir, stateFile), []byte(*c.File), 0o600); err != nil {
			panic(err)
		}
	}
	m, err := managerFor(c, newStore(c), dir)
	if err != nil {
		return errJSON(M{"stage": "construct"}, err)
	}
	resetMetrics()
	k := &kubelet{m: m, dir: dir, ready: true}
	r := M{}
	if err := k.start(c, c.Map); err != nil {
		errJSON(r, scratch.HideIn(err, dir, "{dir}"))
	} else {
		r["state"] = stateJSON(m.State())
		r["metrics"] = metricsNow()
	}
	k.dead.Store(true)
	r["file"] = fileNow(dir)
	return r
}

func execCheckpoint(c *Case) any {
	dir := scratch.Folder("cpu-")
	defer os.RemoveAll(dir)
	s, err := release.OpenCPUState(dir, stateFile, c.Policy)
	if err != nil {
		panic(err)
	}
	fill(s, c.State)
	r := M{"file": fileNow(dir)}
	entries := map[string]map[string]string{}
	for p, cs := range c.State.Assignments {
		entries[p] = map[string]string{}
		for n, x := range cs {
			entries[p][n] = set(x).String()
		}
	}
	free := c.State.Default
	if release.HasDataChecksum {
		free = set(free).String()
	}
	r["hashed"] = release.CPUHashed(c.Policy, free, entries, podSets(c.State.Pods), gates.On(gates.PodLevelManagers))
	var f struct {
		Checksum     uint64 `json:"checksum"`
		Data         string `json:"data"`
		DataChecksum uint64 `json:"dataChecksum"`
	}
	_ = json.Unmarshal([]byte(r["file"].(string)), &f)
	if h := fnv32a(r["hashed"].(string)); uint64(h) != f.Checksum {
		panic("the dump is not what was hashed")
	}
	r["checksum"] = f.Checksum
	if release.HasDataChecksum {
		r["dataHashed"], r["dataChecksum"] = release.Dump(f.Data), f.DataChecksum
		if h := fnv32a(r["dataHashed"].(string)); uint64(h) != f.DataChecksum {
			panic("the dump of the data is not what was hashed")
		}
	}
	// and it must be read back
	s2, err := release.OpenCPUState(dir, stateFile, c.Policy)
	if err != nil {
		errJSON(r, scratch.HideIn(err, dir, "{dir}"))
	} else {
		r["restored"] = stateJSON(s2)
	}
	return r
}

func fnv32a(s string) uint32 {
	h := uint32(2166136261)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}

func execConstruct(c *Case) any {
	seen := map[string]bool{}
	var r M
	n := 1
	if len(c.Options) > 1 {
		n = 40 // the order in which options are looked at is random
	}
	dir := scratch.Folder("cpu-")
	defer os.RemoveAll(dir)
	for i := 0; i < n; i++ {
		m, err := managerFor(c, newStore(c), dir)
		if err != nil {
			seen[err.Error()] = true
			continue
		}
		r = M{"ok": true, "policy": c.Policy}
		if c.Policy != "none" {
			k := &kubelet{m: m, dir: dir, ready: true}
			if err := k.start(c, nil); err != nil {
				panic(err)
			}
			k.dead.Store(true)
			r["reserved"] = m.GetAllCPUs().Difference(m.GetAllocatableCPUs()).String()
			r["default"] = m.State().GetDefaultCPUSet().String()
		} else {
			k := &kubelet{m: m, dir: dir, ready: true}
			_ = k.start(c, nil)
			r["allocatable"] = m.GetAllocatableCPUs().String()
		}
		break
	}
	if len(seen) > 0 {
		if r != nil {
			panic("sometimes an error, sometimes not")
		}
		var l []string
		for e := range seen {
			l = append(l, e)
		}
		sort.Strings(l)
		if len(l) == 1 {
			return M{"error": l[0]}
		}
		return M{"anyError": l}
	}
	return r
}
