package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// interpreter is the Python of the project's virtual environment, else the first on PATH.
func interpreter(program *pulumirpc.ProgramInfo) (string, error) {
	folder := ""
	for option, value := range program.GetOptions().AsMap() {
		text, _ := value.(string)
		switch {
		case option == "virtualenv":
			folder = text
		case option == "toolchain" && text == "pip":
		default:
			return "", fmt.Errorf("Pulumi.yaml: runtime option %s: %v isn't known here; there are virtualenv, and toolchain: pip", option, value)
		}
	}
	if folder == "" {
		return exec.LookPath("python3")
	}
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(program.GetRootDirectory(), folder)
	}
	python := filepath.Join(folder, "bin", "python")
	if _, err := os.Stat(python); err != nil {
		return "", fmt.Errorf("Pulumi.yaml: there is no virtual environment in %s; `make setup` makes it", folder)
	}
	return python, nil
}
