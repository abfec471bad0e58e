package main

// Faults of the API server's validation of resource.k8s.io, and what a POST does before an object is stored.

import (
	"context"
	"strings"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/resource"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaimtemplate"
	"k8s.io/kubernetes/pkg/registry/resource/resourceslice"
	"sigs.k8s.io/yaml"

	"kubelet/internal/answer"
	"kubelet/internal/reproduction"
)

// creation is what a POST gives.
type creation struct {
	refused string // the error; empty: accepted
	logged  string // what the API server logs as an error
}

// created has a slice or a template decoded, completed and validated.
func created(document []byte) creation {
	text := answer.Must(yaml.YAMLToJSON(document))
	decoder := legacyscheme.Codecs.UniversalDecoder(resource.SchemeGroupVersion)
	object, _, err := decoder.Decode(text, nil, nil)
	must(err)
	var strategy rest.RESTCreateStrategy
	var plural string
	switch object.(type) {
	case *resource.ResourceSlice:
		strategy, plural = resourceslice.Strategy, "resourceslices"
	case *resource.ResourceClaimTemplate:
		strategy, plural = resourceclaimtemplate.NewStrategy(nil), "resourceclaimtemplates"
	default:
		answer.Unusablef("%T is not created here", object)
	}
	var logged []string
	logger := logr.Logger(funcr.New(func(_, line string) { logged = append(logged, line) }, funcr.Options{}))
	namespace := object.(metav1.Object).GetNamespace()
	ctx := genericapirequest.WithNamespace(klog.NewContext(context.Background(), logger), namespace)
	ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true,
		Verb:              "create",
		APIGroup:          resource.GroupName,
		APIVersion:        "v1",
		Resource:          plural,
		Namespace:         namespace,
	})
	rest.FillObjectMetaSystemFields(object.(metav1.Object))
	refused := ""
	if err := rest.BeforeCreate(strategy, ctx, object); err != nil {
		refused = err.Error()
	}
	return creation{refused, strings.Join(logged, " ")}
}

// attributeSlashes creates a device with an attribute whose name has two slashes.
func attributeSlashes() reproduction.Verdict {
	found := created(documents("attribute-slashes")[0])
	if found.refused == "" {
		return reproduction.Fault("the slice with attribute gpu.example.com/model/name is accepted")
	}
	return reproduction.Sound("the slice with attribute gpu.example.com/model/name is refused: %s", found.refused)
}

// driverCapitals creates the slice of a driver whose name has capitals, and then a claim that names its attribute.
func driverCapitals() reproduction.Verdict {
	both := documents("driver-capitals")
	slice, template := created(both[0]), created(both[1])
	switch {
	case slice.refused != "":
		return reproduction.Sound("the slice is refused: %s", slice.refused)
	case template.refused == "" && template.logged == "":
		return reproduction.Sound("the slice and the claim are accepted")
	case template.refused == "":
		return reproduction.Fault("the slice and the claim are accepted; logged: %s", template.logged)
	}
	return reproduction.Fault("the slice is accepted, the claim refused: %s; logged: %s", template.refused, template.logged)
}
