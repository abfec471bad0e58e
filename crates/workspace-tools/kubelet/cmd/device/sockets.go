//go:build !kubelet_1_37 && !kubelet_1_38

package main

// The connections of the device manager, of which a resource has one at most before 1.37.

import (
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
	api          pluginapi.DevicePluginClient
	stopTime     time.Time
	client       plugin.Client
}

type sockets struct {
	clients *map[string]plugin.Client
}

func openSockets(_, server reflect.Value) sockets {
	return sockets{(*map[string]plugin.Client)(fieldAddr(server, "clients", "map[string]v1beta1.Client"))}
}

// connectedSockets are not told apart.
func (in *inner) connectedSockets(string) []string { return nil }

// isConnected says whether the manager takes the plugin to be alive.
func (in *inner) isConnected(p *fakePlugin) bool {
	stopped, known := in.endpoint(p.resource)
	return known && !stopped
}

// clientSocket says whether the resource has a client; its socket does not matter.
func (in *inner) clientSocket(resource string) (string, bool) {
	in.srvMu.Lock()
	defer in.srvMu.Unlock()
	_, had := (*in.clients)[resource]
	return "", had
}
