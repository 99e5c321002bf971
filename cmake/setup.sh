# Functions that ./quickstart and ./check share: packages, build and messages. Both source this file from the root of the
# clone, with `set -eu`. POSIX shell.
# shellcheck shell=sh disable=SC2034,SC2086  # lists are split on purpose, and used by the scripts that source this file

# The packages that are needed to build, run and test. Only missing ones are installed.
build_packages="g++ cmake ninja-build pkg-config libsimgrid-dev libboost-graph-dev libyaml-cpp-dev libcli11-dev
  nlohmann-json3-dev libfmt-dev libssl-dev libsqlite3-dev coinor-libcbc-dev libeigen3-dev libpugixml-dev zlib1g-dev
  doctest-dev libvalijson-dev libbenchmark-dev"

say() { printf '%s\n' "$*"; }
complain() { printf '%s\n' "$*" >&2; }

# usage_error MESSAGE: prints the message and exits with code 2.
usage_error() {
  complain "$(basename "$0"): $1 (try --help)"
  exit 2
}

# missing_packages PACKAGE…: prints the packages that are not installed according to dpkg, one per line.
missing_packages() {
  for package in "$@"; do
    status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || say "$package"
  done
}

# as_root COMMAND…: runs the command as root, through sudo if necessary. Without a terminal sudo must not ask for a password.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif ! command -v sudo >/dev/null; then
    complain "root rights are needed and sudo is not installed; ask an administrator to run: $*"
    return 1
  elif [ -t 0 ]; then
    sudo "$@"
  else
    sudo -n "$@"
  fi
}

# install_packages PACKAGE…: installs missing packages. Uses the network only if something is missing.
install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    complain "this is not a Debian system; install the equivalents of these packages by hand: $*"
    return 0
  fi
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  say "installing:" $missing
  as_root apt-get -qq update || complain "the package lists could not be updated; trying with the old ones"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
    -o DPkg::Lock::Timeout=300 $missing >/dev/null  # errors go to standard error
}

# job_count: prints how many compilers may run at once: CMAKE_BUILD_PARALLEL_LEVEL, or else one per core.
job_count() { say "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}"; }

# use_ccache_if_present: compiles through ccache if it is installed.
use_ccache_if_present() {
  if [ -z "${CMAKE_CXX_COMPILER_LAUNCHER:-}" ] && command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache
  fi
  # These settings let clones in different folders share their cached results.
  export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$PWD}" CCACHE_NOHASHDIR="${CCACHE_NOHASHDIR:-1}"
}

# build PRESET TARGET…: configures and builds. Continues after an error, so that one run shows all errors. What CMake finds
# out is shown if it fails.
build() {
  preset=$1
  shift
  configured=$(cmake --preset "$preset" -Wno-dev 2>&1) || { complain "$configured"; return 1; }
  cmake --build "build/$preset" --parallel "$(job_count)" --target "$@" -- -k 0
}
