// Programs run without a shell in between, and never longer than they may.
#include "experiments/study/program.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

namespace stagecraft {
namespace {

using std::chrono::milliseconds;

ProgramCall shell_call(const std::string& script) {
  return {.arguments = {"sh", "-c", script}, .time_limit = milliseconds(10'000)};
}

double seconds_of(const ProgramCall& call, ProgramEnd& end) {
  const auto start = std::chrono::steady_clock::now();
  end = run_program(call);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST_CASE("program: arguments arrive as they are") {
  const std::string odd = "a \"b\" 'c' $(touch pwned) `x` \\ *\n;|&";
  const ProgramEnd end = run_program({.arguments = {"printf", "%s", odd}});
  CHECK(end.succeeded());
  CHECK(end.out == odd);
}

TEST_CASE("program: both streams and the end are told") {
  const ProgramEnd end = run_program(shell_call("echo good; echo bad >&2; exit 7"));
  CHECK(end.exit_code == 7);
  CHECK_FALSE(end.succeeded());
  CHECK(end.out == "good\n");
  CHECK(end.err == "bad\n");
  CHECK(run_program(shell_call("kill -9 $$")).signal == 9);
}

TEST_CASE("program: input of any size is read, or not") {
  const std::string input(std::size_t{1} << 20, 'x');
  const ProgramEnd read = run_program({.arguments = {"wc", "-c"}, .input = input});
  CHECK(read.out == "1048576\n");
  CHECK(run_program({.arguments = {"true"}, .input = input}).succeeded());
}

TEST_CASE("program: output of any size is taken, and kept up to a bound") {
  ProgramCall call = shell_call("head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2");
  CHECK(run_program(call).out.size() == 1'000'000);
  call.kept_output = 1000;
  const ProgramEnd end = run_program(call);
  CHECK(end.succeeded());
  CHECK(end.out.size() == 1000);
  CHECK(end.err.size() == 1000);
}

TEST_CASE("program: what cannot be started says why") {
  const ProgramEnd end = run_program({.arguments = {"/nonexistent/program"}});
  CHECK_FALSE(end.succeeded());
  CHECK(end.not_started == "No such file or directory");
}

TEST_CASE("program: a time limit ends it and what it started") {
  ProgramCall call = shell_call("echo begun; sleep 60 & sleep 60");
  call.time_limit = milliseconds(200);
  ProgramEnd end;
  CHECK(seconds_of(call, end) < 5);
  CHECK(end.timed_out);
  CHECK_FALSE(end.succeeded());
  CHECK(end.out == "begun\n");
}

TEST_CASE("program: a grandchild that keeps the streams open is not waited for") {
  ProgramEnd end;
  CHECK(seconds_of(shell_call("echo done; sleep 3 & exit 0"), end) < 2);
  CHECK(end.succeeded());
  CHECK(end.out == "done\n");
}

TEST_CASE("program: hidden variables are not seen") {
  setenv("STAGECRAFT_TEST_A", "1", 1);  // NOLINT(concurrency-mt-unsafe): one thread
  setenv("STAGECRAFT_TESTS", "2", 1);   // NOLINT(concurrency-mt-unsafe)
  ProgramCall call = shell_call("echo ${STAGECRAFT_TEST_A-none} ${STAGECRAFT_TESTS-none}");
  CHECK(run_program(call).out == "1 2\n");
  call.hidden_variables = {"STAGECRAFT_TEST_"};
  CHECK(run_program(call).out == "none 2\n");
  call.hidden_variables = {"STAGECRAFT_TESTS", "STAGECRAFT_TEST"};
  CHECK(run_program(call).out == "1 none\n");
  unsetenv("STAGECRAFT_TEST_A");  // NOLINT(concurrency-mt-unsafe)
  unsetenv("STAGECRAFT_TESTS");   // NOLINT(concurrency-mt-unsafe)
}

TEST_CASE("program: it is looked for in PATH") {
  CHECK(program_is_there("sh"));
  CHECK_FALSE(program_is_there("no-such-program-anywhere"));
}

}  // namespace
}  // namespace stagecraft
