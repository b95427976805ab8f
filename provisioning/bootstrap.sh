#!/usr/bin/env bash
# Makes this checkout ready on the operator's machine: system packages (by apt, said first), then .venv from the lock file.
# Writes only to .venv and the user's cache, apart from the packages that it names. Linux only.
# Usage: bootstrap.sh [PROGRAM:PACKAGE...], programs that are needed beside the usual ones, and Debian's packages for them.
set -euo pipefail
also=("$@")
LOCK_TIMEOUT_S=600 # as long as a machine's daily upgrade may hold apt's locks
cd "$(dirname "$0")/.."

say() { printf 'samebox setup: %s\n' "$*" >&2; }
fail() { say "$@"; exit 1; }

[ "$(uname -s)" = Linux ] || fail "samebox runs on Linux only (this is $(uname -s)): it needs /proc and loopback addresses 127.0.0.0/8."

# --- what is missing ------------------------------------------------------------------------------------------------
python_ok() { "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != (3, 11))' >/dev/null 2>&1; }
java_ok() { java -XX:-UsePerfData -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | awk '$1 >= 17 {ok = 1} END {exit !ok}'; }
find_sshd() { PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v sshd >/dev/null; }

python=
missing=()
look() { # sets python and missing
  python=
  missing=()
  local candidate
  for candidate in python3.11 python3; do
    if python_ok "$candidate"; then python=$candidate; break; fi
  done
  [ -n "$python" ] || missing+=(python3.11 python3.11-venv)
  find_sshd || missing+=(openssh-server)
  command -v ssh-keygen >/dev/null || missing+=(openssh-client)
  java_ok || missing+=(openjdk-17-jdk-headless)
  command -v mvn >/dev/null || missing+=(maven)
  local pair
  for pair in "${also[@]}"; do
    PATH="$PATH:/usr/sbin:/sbin" command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
  done
}
look

# --- system packages ------------------------------------------------------------------------------------------------
# Debian starts a daemon when its package is installed. samebox runs its own sshd processes on loopback addresses and wants
# none on port 22, so for the time of the installation policy-rc.d forbids every start, and the unit is left disabled.
# The body is a subshell: its trap runs however it ends, with its variables.
install_packages() (
  policy=/usr/sbin/policy-rc.d
  kept=$policy.samebox-kept
  had_ssh_unit=no
  [ -e /lib/systemd/system/ssh.service ] && had_ssh_unit=yes
  # one that is kept already is the user's; what stands in its place was left by an installation that was killed
  if [ -e $policy ] && [ ! -e $kept ]; then $as_root mv $policy $kept || exit 1; fi
  restore() { if [ -e $kept ]; then $as_root mv $kept $policy; else $as_root rm -f $policy; fi; }
  trap restore EXIT
  printf '#!/bin/sh\nexit 101\n' | $as_root tee $policy >/dev/null || exit 1
  $as_root chmod 755 $policy || exit 1
  update_lists || exit 1
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o DPkg::Lock::Timeout=$LOCK_TIMEOUT_S \
    --no-install-recommends "$@" >&2 || exit 1
  if [ $had_ssh_unit = no ] && [ -e /lib/systemd/system/ssh.service ]; then
    $as_root deb-systemd-helper disable ssh.service ssh.socket >/dev/null 2>&1 || true
  fi
)

# apt waits for dpkg's lock if asked to, but never for that of its lists
update_lists() {
  local said waited_until_s=$((SECONDS + LOCK_TIMEOUT_S))
  until said=$($as_root env LC_ALL=C apt-get update -qq 2>&1); do
    case $said in *"Could not get lock"*) ;; *) printf '%s\n' "$said" >&2; return 1 ;; esac
    if [ $SECONDS -ge $waited_until_s ]; then printf '%s\n' "$said" >&2; return 1; fi
    sleep 2
  done
}

if [ ${#missing[@]} -gt 0 ]; then
  install="apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  command -v apt-get >/dev/null || fail "missing: ${missing[*]} (Debian's names). Install them with your system's package manager, then run this again."
  as_root=
  if [ "$(id -u)" -ne 0 ]; then
    as_root=sudo
    sudo -n true 2>/dev/null || fail "missing system packages, and no root here. Have root type this, then run the same command again
(the ssh server need not run: systemctl disable --now ssh):
  $install"
  fi
  exec 9</var/lib/dpkg
  flock 9 # setups of two clones would overwrite each other's policy-rc.d; the second finds what the first installed
  look
fi
if [ ${#missing[@]} -gt 0 ]; then
  say "installing system packages: ${missing[*]} (no daemon is started)"
  install_packages "${missing[@]}" || fail "apt-get could not install them; its message is above. By hand, as root:
  $install"
  look
  [ ${#missing[@]} -eq 0 ] || fail "still missing after the installation: ${missing[*]}. If an older one comes first on the PATH (as java may), put the newer first."
fi
exec 9<&-

# --- Python environment, exactly as locked --------------------------------------------------------------------------
wanted=$({ pwd; "$python" -VV; cat requirements.lock pyproject.toml; } | sha256sum | cut -d' ' -f1)
if [ "$(cat .venv/.installed 2>/dev/null)" != "$wanted" ]; then
  say "installing the locked Python packages into .venv (a few minutes the first time)"
  "$python" -m venv --clear .venv
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r requirements.lock \
    || fail "pip could not install requirements.lock; its message is above."
  # pip compiles on one core; what is written for other Pythons, as some packages have it, can't be compiled and is never imported
  .venv/bin/python -m compileall -qq -j 0 .venv/lib || true
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . \
    || fail "pip could not install this checkout; its message is above."
  echo "$wanted" >.venv/.installed
fi
