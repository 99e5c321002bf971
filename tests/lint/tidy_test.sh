#!/bin/sh
# tidy_test.sh PATH_OF_CMAKE_TIDY
set -eu
tidy=$1
command -v clang-tidy-19 >/dev/null && command -v clang++-19 >/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/build"
cd "$folder"
export XDG_CACHE_HOME="$folder/cache"

cat >.clang-tidy <<'TEXT'
Checks: '-*,modernize-use-nullptr'
WarningsAsErrors: '*'
HeaderFilterRegex: '.*'
TEXT
sed "s|@|$folder|g" >build/compile_commands.json <<'TEXT'
[
{
  "directory": "@/build",
  "command": "/usr/bin/c++ -I@ -DTEXT=\\\"a\\\" -std=c++20 -o a.o -c @/a.cpp",
  "file": "@/a.cpp"
}
]
TEXT
printf 'const char* name();\n' >a.hpp
printf '#include "a.hpp"\nconst char* name() { return TEXT; }\n' >a.cpp

fail() {
  printf 'tidy_test: %s\n' "$1" >&2
  exit 1
}
kept() { find cache -type f | wc -l; }

"$tidy" build || fail "a clean source is refused"
[ "$(kept)" = 1 ] || fail "a clean result is not kept"
# With what was found to be kept, clang-tidy must not run.
mkdir none
# shellcheck disable=SC2016
printf '#!/bin/sh\n[ "$1" = --version ] && exec /usr/bin/clang-tidy-19 --version\nexit 3\n' >none/clang-tidy-19
chmod +x none/clang-tidy-19
PATH="$folder/none:$PATH" "$tidy" build || fail "a kept result is not used"

printf 'const char* name();\ninline const char* nobody() { return 0; }\n' >a.hpp
for again in 1 2; do
  found=$("$tidy" build) && fail "a finding in a header passes, run $again"
  case "$found" in *modernize-use-nullptr*) ;; *) fail "the finding is not told, run $again" ;; esac
done
printf 'const char* name();\n' >a.hpp
printf 'Checks: "-*,modernize-use-nullptr,readability-else-after-return"\n' >.clang-tidy
"$tidy" build || fail "a clean source is refused under other checks"
[ "$(kept)" = 2 ] || fail "the result of other checks is not told apart"
