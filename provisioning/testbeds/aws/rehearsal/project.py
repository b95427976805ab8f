"""The Pulumi project as a rehearsal has it: a copy with state of its own, which reaches the AWS on this machine and no other.

The operator's own stacks, their state, their login and their credentials stay out of it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import yaml

from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import Cloud
from provisioning.testbeds.aws.rehearsal.engine.engine import Engine
from provisioning.testbeds.aws.shape import NAMESPACE, PROJECT_FILE, read_stack_config

PROVIDER = Path(__file__).resolve().parent / "cloud" / "bin"
# of one run: never copied into the next
OF_A_RUN = ("created", "expires", "hostKeySeed", "generations")
# settings about the operator, for a config that lacks them
ABOUT_THE_OPERATOR = {"owner": "rehearsal", "operatorCidr": "203.0.113.7/32"}
# beside the project, because commands are typed there
LINKED = (".venv", "campaigns")


def environment_of(folder: Path, cloud: Cloud, engine: Engine) -> dict[str, str]:
    """This process' environment, freed of what it says about Pulumi and AWS; `folder` keeps Pulumi's home and state."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PULUMI_", "AWS_"))}
    for name in ("home", "backend"):
        (folder / name).mkdir(parents=True)
    return {
        **kept,
        **cloud.environment,
        "PATH": os.pathsep.join([str(PROVIDER), str(engine.folder), os.environ.get("PATH", os.defpath)]),
        "PULUMI_HOME": str(folder / "home"),
        "PULUMI_BACKEND_URL": f"file://{folder / 'backend'}",
        "PULUMI_CONFIG_PASSPHRASE": "nothing here is a secret",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
    }


def lay_out(project: Path, checkout: Path) -> None:
    """Copies the program into `project`, a new folder, which then is where commands are typed."""
    project.mkdir(parents=True)
    shutil.copy(checkout / PROJECT_FILE, project)
    shutil.copytree(checkout / "infra", project / "infra", ignore=shutil.ignore_patterns("__pycache__"))
    for name in LINKED:
        (project / name).symlink_to(checkout / name)


def write_stack(file: Path, template: Path, identity_file: Path) -> None:
    """Writes a stack's config as `template` has it, a stack's own file or a preset, with defaults for what it lacks.

    Leaves out what belongs to one run, secrets and the keys of providers. Raises InvalidInput for a file that isn't a stack's config.
    """
    config = {key: value for key, value in read_stack_config(template).items() if key not in OF_A_RUN}
    own = {**ABOUT_THE_OPERATOR, "identityFile": str(identity_file), **config}
    file.write_text(yaml.safe_dump({"config": {f"{NAMESPACE}{key}": value for key, value in own.items()}}))


def make_key(file: Path) -> None:
    """An SSH key pair without a passphrase, for the hosts of a rehearsal."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(file)], check=True)
