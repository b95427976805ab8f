package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	"github.com/pulumi/pulumi/sdk/v3/go/common/version"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/protobuf/types/known/emptypb"
)

const (
	programGrace = 5 * time.Second
	// the executor exits with this when it has told the operator already what is wrong
	exitAlreadyTold = 32
)

type languageServer struct {
	pulumirpc.UnimplementedLanguageRuntimeServer
	executor string
	engine   string
	lifetime context.Context
	end      context.CancelFunc
}

func (s *languageServer) Handshake(
	_ context.Context, request *pulumirpc.LanguageHandshakeRequest,
) (*pulumirpc.LanguageHandshakeResponse, error) {
	s.engine = request.GetEngineAddress()
	err := rpcutil.Healthcheck(s.lifetime, s.engine, engineTimeout, s.end)
	return &pulumirpc.LanguageHandshakeResponse{}, err
}

func (s *languageServer) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{Version: version.Version}, nil
}

// GetRequiredPackages names none: a provider is looked for when its first resource comes.
func (s *languageServer) GetRequiredPackages(
	context.Context, *pulumirpc.GetRequiredPackagesRequest,
) (*pulumirpc.GetRequiredPackagesResponse, error) {
	return &pulumirpc.GetRequiredPackagesResponse{}, nil
}

func (s *languageServer) About(
	ctx context.Context, request *pulumirpc.AboutRequest,
) (*pulumirpc.AboutResponse, error) {
	python, err := interpreter(request.GetInfo())
	if err != nil {
		return nil, err
	}
	printed, err := exec.CommandContext(ctx, python, "-c", "import platform; print(platform.python_version(), end='')").Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", python, err)
	}
	return &pulumirpc.AboutResponse{Executable: python, Version: string(printed)}, nil
}

func (s *languageServer) GetProgramDependencies(
	ctx context.Context, request *pulumirpc.GetProgramDependenciesRequest,
) (*pulumirpc.GetProgramDependenciesResponse, error) {
	python, err := interpreter(request.GetInfo())
	if err != nil {
		return nil, err
	}
	const listing = "import json, importlib.metadata as m; print(json.dumps({d.name: d.version for d in m.distributions()}))"
	printed, err := exec.CommandContext(ctx, python, "-c", listing).Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", python, err)
	}
	versions := map[string]string{}
	if err := json.Unmarshal(printed, &versions); err != nil {
		return nil, err
	}
	answer := &pulumirpc.GetProgramDependenciesResponse{}
	for name, version := range versions {
		answer.Dependencies = append(answer.Dependencies, &pulumirpc.DependencyInfo{Name: name, Version: version})
	}
	return answer, nil
}

// Run runs the program to its end. A program that fails is an answer, not an error.
func (s *languageServer) Run(ctx context.Context, request *pulumirpc.RunRequest) (*pulumirpc.RunResponse, error) {
	python, err := interpreter(request.GetInfo())
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.lifetime, stop)()

	command := exec.CommandContext(running, python, s.arguments(request)...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = programGrace
	if command.Env, err = environment(request); err != nil {
		return nil, err
	}
	err = command.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return &pulumirpc.RunResponse{}, nil
	case errors.As(err, &exit) && exit.ExitCode() == exitAlreadyTold:
		return &pulumirpc.RunResponse{Bail: true}, nil
	case errors.As(err, &exit):
		return &pulumirpc.RunResponse{Error: fmt.Sprintf("the program ended with exit code %d", exit.ExitCode())}, nil
	default:
		return &pulumirpc.RunResponse{Error: fmt.Sprintf("the program can't be run by %s: %v", python, err)}, nil
	}
}

func (s *languageServer) Cancel(context.Context, *emptypb.Empty) (*emptypb.Empty, error) {
	s.end()
	return &emptypb.Empty{}, nil
}

// arguments is the executor's command line: its options, where the program is, the program's own arguments.
func (s *languageServer) arguments(request *pulumirpc.RunRequest) []string {
	arguments := []string{s.executor}
	option := func(name, value string) {
		if value != "" {
			arguments = append(arguments, "--"+name, value)
		}
	}
	option("monitor", request.GetMonitorAddress())
	option("engine", s.engine)
	option("project", request.GetProject())
	option("stack", request.GetStack())
	option("organization", request.GetOrganization())
	option("pwd", request.GetPwd())
	option("root_directory", request.GetInfo().GetRootDirectory())
	option("dry_run", strconv.FormatBool(request.GetDryRun()))
	option("parallel", strconv.Itoa(int(request.GetParallel())))
	return append(append(arguments, request.GetInfo().GetEntryPoint()), request.GetArgs()...)
}

// environment is ours and the stack's configuration, which the SDK reads from two variables.
func environment(request *pulumirpc.RunRequest) ([]string, error) {
	config, err := json.Marshal(request.GetConfig())
	if err != nil {
		return nil, err
	}
	secretKeys := request.GetConfigSecretKeys()
	if secretKeys == nil {
		secretKeys = []string{}
	}
	secrets, err := json.Marshal(secretKeys)
	if err != nil {
		return nil, err
	}
	return append(os.Environ(), "PULUMI_CONFIG="+string(config), "PULUMI_CONFIG_SECRET_KEYS="+string(secrets)), nil
}
