// Command texts reads texts as kubectl reads manifests and as the kubelet reads its configuration, one case a line:
// what it takes of them, as JSON, or why it takes nothing.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/klog/v2"
	kubeletconfigv1beta1 "k8s.io/kubelet/config/v1beta1"
	kubeletscheme "k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
	"k8s.io/kubernetes/pkg/kubelet/kubeletconfig/util/codec"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"kubelet/internal/answer"
)

// Case is a text, and who reads it.
type Case struct {
	ID   any    `json:"id"`
	Form string `json:"form"` // "manifest" or "configuration"
	Text string `json:"text"`
}

// Read is what a text was read as.
type Read struct {
	Documents []json.RawMessage `json:"documents"`
	// Why the text after these was refused.
	Error string `json:"error,omitempty"`
	// Why a strict decoder would refuse it.
	Strict string `json:"strict,omitempty"`
	// Whether it was read otherwise another time: keys such as 1 and "1" are one, and a map's order decides which counts.
	Varies bool `json:"varies,omitempty"`
}

func main() {
	if len(os.Args) != 2 || os.Args[1] != "run" {
		fmt.Fprintln(os.Stderr, "usage: texts run")
		os.Exit(2)
	}
	klog.SetLogger(logr.Discard())
	answer.Serve(func(line []byte) any {
		c := &Case{}
		if err := json.Unmarshal(line, c); err != nil {
			return answer.Answer{Error: err.Error()}
		}
		return answer.Within(answer.Limit, c.ID, func() any {
			if c.Form == "configuration" {
				return configuration([]byte(c.Text))
			}
			read := manifests([]byte(c.Text))
			for range 8 {
				again := manifests([]byte(c.Text))
				read.Varies = read.Varies || !bytes.Equal(answer.Encode(again.Documents), answer.Encode(read.Documents))
			}
			return read
		})
	})
}

// manifests reads a text as resource.StreamVisitor of kubectl does.
func manifests(text []byte) Read {
	read := Read{Documents: []json.RawMessage{}}
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		object := runtime.RawExtension{}
		if err := decoder.Decode(&object); err != nil {
			if !errors.Is(err, io.EOF) {
				read.Error = err.Error()
			}
			return read
		}
		raw := bytes.TrimSpace(object.Raw)
		if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
			continue
		}
		compact, err := normal(raw)
		if err != nil {
			read.Error = err.Error()
			return read
		}
		read.Documents = append(read.Documents, compact)
	}
}

// normal is a document with every key once and in order, and numbers as they are written.
func normal(raw []byte) (json.RawMessage, error) {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return json.RawMessage(answer.Encode(value)), nil
}

// configuration reads a text as the kubelet does: strictly, then leniently. The document has no defaults.
func configuration(text []byte) (read Read) {
	read = Read{Documents: []json.RawMessage{}}
	// Feature gates that it does not know end the kubelet.
	defer func() {
		if r := recover(); r != nil {
			read.Error = answer.Fault(r)
		}
	}()
	_, codecs, err := kubeletscheme.NewSchemeAndCodecs(serializer.EnableStrict)
	if err != nil {
		panic(err)
	}
	if _, err := codec.DecodeKubeletConfiguration(context.Background(), codecs, text); err != nil {
		read.Error = err.Error()
		return read
	}
	if _, _, err := codecs.UniversalDecoder().Decode(text, nil, nil); err != nil {
		read.Strict = err.Error()
	}
	raw := text
	if !utilyaml.IsJSONBuffer(text) {
		raw = answer.Must(yaml.YAMLToJSON(text))
	}
	external := kubeletconfigv1beta1.KubeletConfiguration{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &external); err != nil {
		panic(err)
	}
	read.Documents = append(read.Documents, answer.Encode(external))
	return read
}
