//go:build kubelet_1_34

package release

// GateDependencies is empty: the gates of 1.34 do not know each other.
func GateDependencies() map[string][]string { return nil }
