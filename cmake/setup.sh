# What ./quickstart and ./check share: packages, build and messages. Sourced by both from the root of the clone, with
# `set -eu`; POSIX shell.
# shellcheck shell=sh disable=SC2034,SC2086  # lists are split on purpose and used by whoever sources this

# What it takes to build, run and test. Only what is missing is installed.
build_packages="g++ cmake ninja-build pkg-config libsimgrid-dev libboost-graph-dev libyaml-cpp-dev libcli11-dev
  nlohmann-json3-dev libfmt-dev libssl-dev libsqlite3-dev coinor-libcbc-dev doctest-dev libbenchmark-dev"

say() { printf '%s\n' "$*"; }
complain() { printf '%s\n' "$*" >&2; }

# usage_error MESSAGE: a wrong call ends with 2.
usage_error() {
  complain "$(basename "$0"): $1 (try --help)"
  exit 2
}

# missing_packages PACKAGE…: prints those that dpkg does not know as installed, one a line.
missing_packages() {
  for package in "$@"; do
    status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || say "$package"
  done
}

# as_root COMMAND…: runs it as root, through sudo where need be; without a terminal sudo must not ask.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif ! command -v sudo >/dev/null; then
    complain "neither root nor sudo: ask an administrator to run: $*"
    return 1
  elif [ -t 0 ]; then
    sudo "$@"
  else
    sudo -n "$@"
  fi
}

# install_packages PACKAGE…: touches the network only when something is missing.
install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    complain "not a Debian system: install the equivalents of these by hand: $*"
    return 0
  fi
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  say "installing:" $missing
  as_root apt-get -qq update || complain "the package lists could not be refreshed; trying with what is known"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
    -o DPkg::Lock::Timeout=300 $missing >/dev/null  # what goes wrong is on standard error
}

# How many compilers may run at once: one per core unless CMAKE_BUILD_PARALLEL_LEVEL says otherwise.
job_count() { say "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}"; }

# use_ccache_if_present: an installed ccache is used; nobody has to have one.
use_ccache_if_present() {
  if [ -z "${CMAKE_CXX_COMPILER_LAUNCHER:-}" ] && command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache
  fi
  # What one clone compiled serves the next one, wherever it lies.
  export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$PWD}" CCACHE_NOHASHDIR="${CCACHE_NOHASHDIR:-1}"
}

# build PRESET TARGET…: configures and builds; goes on past the first error so that one run shows them all.
build() {
  preset=$1
  shift
  cmake --preset "$preset" -Wno-dev && cmake --build "build/$preset" --parallel "$(job_count)" --target "$@" -- -k 0
}
