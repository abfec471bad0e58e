// Package answer reads cases line by line, has each answered within its time, and writes the answers.
//
// This file holds what an answer is and how a panic becomes one.
package answer

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

// Limit is how long one case may take.
const Limit = 5 * time.Second

// Answer is one line of output. One of the last four is set.
type Answer struct {
	Hang   bool   `json:"hang,omitempty"`
	ID     any    `json:"id"`
	Error  string `json:"error,omitempty"` // the case cannot be asked
	Panic  string `json:"panic,omitempty"` // what the kubelet's code died of
	Result any    `json:"result,omitempty"`
}

// Unusable is panicked with for a case that cannot be asked: it must not look like a crash of the kubelet.
type Unusable string

// Unusablef panics with an Unusable.
func Unusablef(format string, args ...any) { panic(Unusable(fmt.Sprintf(format, args...))) }

// Must panics with an Unusable if there is an error.
func Must[T any](value T, err error) T {
	if err != nil {
		Unusablef("%v", err)
	}
	return value
}

// Fault is the text of a recovered panic of the kubelet's code. An Unusable goes on.
func Fault(recovered any) string {
	if unusable, ok := recovered.(Unusable); ok {
		panic(unusable)
	}
	if os.Getenv("KUBELET_TRACE") != "" {
		fmt.Fprintf(os.Stderr, "%v\n%s\n", recovered, debug.Stack())
	}
	return fmt.Sprint(recovered)
}

// Guarded is the answer that f gives, or the fault that ended it.
func Guarded(id any, f func() any) (a Answer) {
	defer func() {
		if r := recover(); r != nil {
			if unusable, ok := r.(Unusable); ok {
				a = Answer{ID: id, Error: string(unusable)}
				return
			}
			a = Answer{ID: id, Panic: Fault(r)}
		}
	}()
	return Answer{ID: id, Result: f()}
}

// Within gives the answer of f, or gives up. What is given up runs on: whoever asks starts another process.
func Within(limit time.Duration, id any, f func() any) Answer {
	done := make(chan Answer, 1)
	go func() { done <- Guarded(id, f) }()
	select {
	case a := <-done:
		return a
	case <-time.After(limit):
		return Answer{ID: id, Hang: true}
	}
}

// ID is the id of a case, alone or as {"id", "case"}.
func ID(line []byte) any {
	var head struct {
		ID any `json:"id"`
	}
	_ = json.Unmarshal(line, &head)
	return head.ID
}

// Encode is a value as one line of JSON, without the line's end.
func Encode(v any) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}
