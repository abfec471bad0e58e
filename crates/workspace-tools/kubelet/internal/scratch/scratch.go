// Package scratch makes folders that live as long as a case, in memory where that can be.
package scratch

import (
	"errors"
	"os"
	"strings"
)

// Root is where folders are made.
func Root() string {
	if _, err := os.Stat("/dev/shm"); err != nil {
		return os.TempDir()
	}
	return "/dev/shm"
}

// Folder makes a folder; the caller removes it.
func Folder(prefix string) string {
	dir, err := os.MkdirTemp(Root(), prefix)
	if err != nil {
		panic(err)
	}
	return dir
}

// Hide replaces the name of a folder in a text, as it is another in every run.
func Hide(text, dir, by string) string { return strings.ReplaceAll(text, dir, by) }

// HideIn replaces the name of a folder in an error.
func HideIn(err error, dir, by string) error {
	if err == nil || !strings.Contains(err.Error(), dir) {
		return err
	}
	return errors.New(Hide(err.Error(), dir, by))
}
