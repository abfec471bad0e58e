// probe asks a kubelet's pod resources service and prints its answers as JSON, a word before each.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

const socket = "unix:///var/lib/kubelet/pod-resources/kubelet.sock"

func show(word string, answer any, err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, word, err)
		os.Exit(1)
	}
	text, _ := json.Marshal(answer)
	fmt.Println(word, string(text))
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	connection, err := grpc.NewClient(socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	client := podresources.NewPodResourcesListerClient(connection)
	list, err := client.List(ctx, &podresources.ListPodResourcesRequest{})
	show("LIST", list, err)
	allocatable, err := client.GetAllocatableResources(ctx, &podresources.AllocatableResourcesRequest{})
	show("ALLOCATABLE", allocatable, err)
}
