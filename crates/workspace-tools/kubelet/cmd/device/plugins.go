package main

// How the plugins of a case register, speak and end.

import (
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"google.golang.org/grpc/status"

	"kubelet/internal/release"
)

// registerPlugin lets a plugin register, through the service or the plugin watcher.
func (w *world) registerPlugin(st *Step, res map[string]any) {
	if st.Again {
		err := w.plugins[st.Plugin].register(w.sock, "v1beta1", st.Plugin+".sock", st.Resource, nil)
		res["error"] = w.rpcError(err)
		time.Sleep(20 * time.Millisecond)
		res["rpcs"], res["updates"] = w.takeLogs(), w.drainUpdates()
		return
	}
	p := &fakePlugin{name: st.Plugin, resource: st.Resource, sock: filepath.Join(w.dir, st.Plugin+".sock"), optionsErr: st.OptsErr,
		pref: st.Preferred, alloc: st.Alloc, preStartErr: st.PreErr, first: toDevices(st.Devices), silent: st.Silent}
	if st.Options != nil {
		p.opts = *st.Options
	}
	if old := w.plugins[st.Plugin]; old != nil { // the same plugin again: its old process ends first
		w.stopPlugin(old, res)
	}
	if err := p.start(); err != nil {
		panic(err)
	}
	w.plugins[st.Plugin] = p
	before, stamp := w.in.allDevicesIdentity(st.Resource), w.stamp()
	version := "v1beta1"
	if st.Version != nil {
		version = *st.Version
	}
	var err error
	if st.Via == "watcher" {
		h := release.Watcher{PluginHandler: w.in.m.GetWatcherHandler()}
		vs := st.Versions
		if vs == nil {
			vs = []string{version}
		}
		err = h.ValidatePlugin(st.Resource, p.sock, vs)
		if err != nil {
			res["stage"] = "validate"
		} else if err = h.RegisterPlugin(st.Resource, p.sock, vs, nil); err != nil {
			res["stage"] = "register"
		}
		res["error"] = w.errText(err)
	} else {
		ep := st.Endpoint
		if ep == "" {
			ep = st.Plugin + ".sock"
		}
		err = p.register(w.sock, version, ep, st.Resource, st.RegOpts)
		res["error"] = w.rpcError(err)
	}
	if err == nil && !st.Silent {
		if !w.settle(p, before, stamp) {
			res["not_settled"] = true
		}
	}
	if err == nil {
		await(400*time.Millisecond, func() bool { return p.streams.Load() > 0 })
	}
	if st.Via == "watcher" {
		res["files"] = w.files()
	}
	res["rpcs"] = w.takeLogs()
	res["updates"] = w.drainUpdates()
}

func (w *world) rpcError(err error) any {
	if err == nil {
		return nil
	}
	s := status.Convert(err)
	return map[string]any{"code": s.Code().String(), "message": strings.ReplaceAll(s.Message(), w.dir, "<DIR>")}
}

func (w *world) settle(p *fakePlugin, before any, stamp string) bool {
	return await(2*time.Second, func() bool {
		return w.in.allDevicesIdentity(p.resource) != before && w.stamp() != stamp
	})
}

func (w *world) drainUpdates() any {
	l := [][]string{}
	for {
		select {
		case u := <-w.in.m.Updates():
			l = append(l, sorted(u.PodUIDs))
		default:
			return l
		}
	}
}

func (w *world) files() []string {
	es, _ := os.ReadDir(w.dir)
	var out []string
	for _, e := range es {
		out = append(out, e.Name())
	}
	sort.Strings(out)
	return out
}

// stopPlugin ends a plugin's process and waits until the manager has noticed.
func (w *world) stopPlugin(p *fakePlugin, res map[string]any) {
	was := w.in.isConnected(p)
	streams := p.streams.Load()
	p.stop()
	if was && streams > 0 {
		if !await(400*time.Millisecond, func() bool { return !w.in.isConnected(p) }) {
			res["not_noticed"] = true
		}
	}
	await(400*time.Millisecond, func() bool { return p.streams.Load() == 0 })
}

// quiet waits until no plugin that lost its client still holds a stream.
func (w *world) quiet(resource string) {
	for _, p := range w.plugins {
		if resource == "" || p.resource == resource {
			await(400*time.Millisecond, func() bool { return p.streams.Load() == 0 })
		}
	}
}
