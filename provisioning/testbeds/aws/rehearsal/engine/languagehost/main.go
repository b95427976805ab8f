// Command languagehost is the part of Pulumi that runs Python programs, in the size that the tests need.
//
// Pulumi's own lives in a module without versions, so that go.mod can't pin it. This one runs a program (up, preview,
// refresh, destroy) with the interpreter of the project's virtual environment; it installs, generates and debugs nothing.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	"github.com/pulumi/pulumi/sdk/v3/go/common/version"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
)

const (
	executorName     = "pulumi-language-python-exec"
	engineTimeout    = time.Minute
	parentCheckEvery = 500 * time.Millisecond
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "pulumi-language-python:", err)
		os.Exit(1)
	}
}

func run() error {
	printVersion := flag.Bool("version", false, "print the version and exit")
	flag.String("tracing", "", "ignored")
	flag.Parse()
	if *printVersion {
		fmt.Println(version.Version)
		return nil
	}
	executor, err := besides(executorName)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(context.Background())
	defer end()
	go endWithParent(ctx, end)

	server := &languageServer{executor: executor, engine: flag.Arg(0), lifetime: ctx, end: end}
	if server.engine != "" {
		if err := rpcutil.Healthcheck(ctx, server.engine, engineTimeout, end); err != nil {
			return fmt.Errorf("the engine at %s: %w", server.engine, err)
		}
	}
	cancelled := make(chan bool)
	context.AfterFunc(ctx, func() { close(cancelled) })
	handle, err := rpcutil.ServeWithOptions(rpcutil.ServeOptions{
		Cancel: cancelled,
		Init: func(registrar *grpc.Server) error {
			pulumirpc.RegisterLanguageRuntimeServer(registrar, server)
			return nil
		},
	})
	if err != nil {
		return err
	}
	fmt.Println(handle.Port) // how the engine learns where to call
	return <-handle.Done
}

// besides finds a file in the folder of this program.
func besides(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	path := filepath.Join(filepath.Dir(self), name)
	_, err = os.Stat(path)
	return path, err
}

// endWithParent ends everything soon after the engine has gone, also when it was killed and could tell nobody.
func endWithParent(ctx context.Context, end context.CancelFunc) {
	parent := os.Getppid()
	for os.Getppid() == parent {
		select {
		case <-ctx.Done():
			return
		case <-time.After(parentCheckEvery):
		}
	}
	end()
	time.Sleep(programGrace + parentCheckEvery) // the program is being ended meanwhile
	os.Exit(1)
}
