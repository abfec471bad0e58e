//go:build kubelet_1_37 || kubelet_1_38

package main

// The connections of the device manager, of which a resource may have several since 1.37.

import (
	"path/filepath"
	"reflect"
	"sync"
	"time"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	plugin "k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/plugin/v1beta1"
)

// endpointImpl has the layout of the manager's own.
type endpointImpl struct {
	mutex        sync.Mutex
	resourceName string
	socket       string
	api          pluginapi.DevicePluginClient
	stopTime     time.Time
	client       plugin.Client
}

type sockets struct {
	clients *map[string][]plugin.Client
	store   *map[string]map[string]*endpointImpl // resource -> socket -> endpoint
}

func openSockets(manager, server reflect.Value) sockets {
	return sockets{
		(*map[string][]plugin.Client)(fieldAddr(server, "clients", "map[string][]v1beta1.Client")),
		(*map[string]map[string]*endpointImpl)(fieldAddr(manager, "endpointStore", "map[string]map[string]*devicemanager.endpointInfo")),
	}
}

// connectedSockets are the sockets of a resource. The caller holds the manager's lock.
func (in *inner) connectedSockets(resource string) []string {
	var out []string
	for socket := range (*in.store)[resource] {
		out = append(out, filepath.Base(socket))
	}
	return sorted(out)
}

// isConnected says whether the manager holds a connection to the plugin's socket.
func (in *inner) isConnected(p *fakePlugin) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	_, ok := (*in.store)[p.resource][p.sock]
	return ok
}

// clientSocket is the socket of a resource's first client.
func (in *inner) clientSocket(resource string) (string, bool) {
	in.srvMu.Lock()
	defer in.srvMu.Unlock()
	clients, had := (*in.clients)[resource]
	if !had {
		return "", false
	}
	return clients[0].SocketPath(), true
}
