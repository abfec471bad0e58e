// Command podbytes reads a pod in JSON and writes it as the kubelet's pods API does: the tests of pods-api have what it
// wrote (go run ./cmd/podbytes < ../../pods-api/tests/NAME.json > ../../pods-api/tests/NAME.binpb).
package main

import (
	"encoding/json"
	"log"
	"os"

	v1 "k8s.io/api/core/v1"
)

func main() {
	pod := &v1.Pod{}
	if err := json.NewDecoder(os.Stdin).Decode(pod); err != nil {
		log.Fatal(err)
	}
	bytes, err := pod.Marshal()
	if err != nil {
		log.Fatal(err)
	}
	if _, err := os.Stdout.Write(bytes); err != nil {
		log.Fatal(err)
	}
}
