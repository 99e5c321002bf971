// The program as a process: standard streams that are closed, full or broken, interrupts, terminals.
#include "tests/experiments/commands/shell.hpp"

#include <doctest/doctest.h>

#include <string>

namespace stagecraft {
namespace {

using test::shell;
using test::ShellRun;

const char* const kLongRun =
    "plan --model bert-large --platform p3.8xlarge-x4 --planner uniform --set stages=2 --microbatches 100000000";

TEST_CASE("process: a result that cannot be written is an error") {
  const ShellRun full = shell("$S --version >/dev/full");
  CHECK(full.code == 2);
  CHECK(full.err.find("cannot write to standard output") != std::string::npos);
  CHECK(shell("$S --version >&-").code == 2);
  CHECK(shell("$S --version 2>&- <&-").code == 0);
}

TEST_CASE("process: describe reads a pipe, and a shipped name beside a folder of that name") {
  const ShellRun piped = shell("cat traces/vgg16.yaml | $S describe /dev/stdin");
  CHECK(piped.code == 0);
  CHECK(piped.out.starts_with("model vgg16"));
  const test::TemporaryFolder folder;
  const ShellRun beside = shell("mkdir $D/vgg16 && cd $D && $S describe vgg16", folder.path());
  CHECK(beside.out.starts_with("model vgg16"));
}

TEST_CASE("process: whoever stops reading ends the program quietly") {
  const ShellRun gone = shell("$S --help | true; exit 0");
  CHECK(gone.code == 0);
  CHECK(gone.err.empty());
  const ShellRun ignored =
      shell("trap '' PIPE; { while echo 2>/dev/null; do :; done; $S --help; echo $? >&2; } | true");
  CHECK(ignored.err == "141\n");
}

TEST_CASE("process: an interrupt ends it with 130, unless interrupts are ignored") {
  const std::string interrupt = std::string("$S ") + kLongRun + " & P=$!; sleep 0.5; kill -INT $P; wait $P";
  // A shell starts what it puts in the background with interrupts ignored; env puts the default back.
  const ShellRun run = shell("S=\"env --default-signal=INT $S\"; " + interrupt);
  CHECK(run.code == 130);
  CHECK(run.out.empty());
}

TEST_CASE("process: a comparison that is ended prints the rows that are done") {
  const test::TemporaryFolder folder;
  const auto ended = [&](const std::string& signal, const std::string& more) {
    return shell(
        "printf '#!/bin/sh\\ntouch %s/asked\\nexec sleep 5\\n' $D >$D/slow.sh; chmod +x $D/slow.sh; rm -f $D/asked; "
        "env --default-signal=INT $S compare --model vgg16-blocks --platform dgx-1-v100 "
        "--planners uniform,exec:$D/slow.sh --no-timings " +
            more + " & P=$!; until [ -e $D/asked ]; do sleep 0.1; done; kill -" + signal + " $P; wait $P",
        folder.path());
  };
  const ShellRun terminated = ended("TERM", "");
  CHECK(terminated.code == 143);
  CHECK(terminated.out.find("(1 of 2 rows are done)") != std::string::npos);
  CHECK(terminated.out.find("\n> uniform  ") != std::string::npos);
  const ShellRun interrupted = ended("INT", "--json");
  CHECK(interrupted.code == 130);
  CHECK(interrupted.out.starts_with("{"));
  CHECK(interrupted.out.ends_with("}\n"));
  CHECK(interrupted.out.find("\"complete\": false") != std::string::npos);
}

TEST_CASE("process: what is not watched shows no progress") {
  const ShellRun run = shell("$S compare --model bert-large --platform p3.8xlarge-x4 --planners uniform --no-timings");
  CHECK(run.code == 0);
  CHECK(run.err.empty());
  CHECK(run.out.find('\x1b') == std::string::npos);
}

TEST_CASE("process: a long run says on standard error how far it is") {
  // The signal is that of the program's timer, which would need ten seconds.
  const test::TemporaryFolder folder;
  const ShellRun run = shell(std::string("$S ") + kLongRun +
                                 " 2>$D/err & P=$!; until [ -s $D/err ]; do sleep 0.1; kill -URG $P || break; done; "
                                 "kill -KILL $P; cat $D/err",
                             folder.path());
  CHECK(run.out.starts_with("stagecraft: after "));
  CHECK(run.out.find('\x1b') == std::string::npos);
}

TEST_CASE("process: data is looked for where STAGECRAFT_DATA says") {
  for (const char* command : {"describe vgg16", "compare --model vgg16 --platform p3.8xlarge-x4"}) {
    const ShellRun run = shell(std::string("STAGECRAFT_DATA=/nonexistent $S ") + command);
    CHECK(run.code == 2);
    CHECK(run.err.find("there are no shipped files in '/nonexistent'; set STAGECRAFT_DATA to") != std::string::npos);
  }
}

}  // namespace
}  // namespace stagecraft
