#include "sim/base/foreign_program.hpp"

#include "tests/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

namespace stagecraft::foreign_program_test {
namespace {

namespace fs = std::filesystem;

/// A shell script in a folder of its own.
struct Script {
  test::TemporaryFolder folder;
  std::string path = folder / "a script";

  explicit Script(const std::string& text) {
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    fs::permissions(path, fs::perms::owner_all);
  }

  [[nodiscard]] ForeignEnd run(std::string_view input = "", Seconds limit = Seconds(60),
                               std::size_t most = 1 << 20) const {
    return run_foreign_program({.command = {path}, .input = input, .time_limit = limit, .most_output = most});
  }
  /// The text that the script wrote to the file `name` in its folder.
  [[nodiscard]] std::string wrote(const std::string& name) const {
    std::ifstream stream(folder / name);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
};

using How = ForeignEnd::How;

bool is_alive(pid_t pid) { return kill(pid, 0) == 0; }

bool becomes(const std::function<bool()>& condition) {
  for (int i = 0; i < 500; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

/// A process of somebody else's that has gone stays for a moment, until it is reaped.
bool is_gone(pid_t pid) {
  std::ifstream stream("/proc/" + std::to_string(pid) + "/stat");
  std::string number;
  std::string name;
  std::string state;
  stream >> number >> name >> state;
  return !is_alive(pid) || state == "Z";
}

TEST_CASE("foreign program: input goes in and output comes out, however large") {
  const std::string input(5'000'000, 'x');
  const ForeignEnd end = Script("cat; echo done >&2").run(input, Seconds(60), 6'000'000);
  CHECK(end.how == How::Left);
  CHECK(end.code == 0);
  CHECK(end.output == input);
  CHECK(end.errors == "done\n");
  CHECK_FALSE(end.are_errors_cut);
}

ForeignEnd run_shell(const std::string& script) { return run_foreign_program({.command = {"sh", "-c", script}}); }

TEST_CASE("foreign program: arguments arrive as they are") {
  const std::string odd = "a \"b\" 'c' $(touch pwned) `x` \\ *\n;|&";
  const ForeignEnd end = run_foreign_program({.command = {"printf", "%s", odd}});
  CHECK(end.succeeded());
  CHECK(end.output == odd);
}

TEST_CASE("foreign program: without a slash it is looked for in PATH") {
  CHECK(run_shell("echo found").output == "found\n");
  CHECK(program_is_there("sh"));
  CHECK_FALSE(program_is_there("no-such-program-anywhere"));
  const ForeignEnd end = run_foreign_program({.command = {"no-such-program-anywhere"}});
  CHECK(end.how == How::NotStarted);
  CHECK(end.code == ENOENT);
  CHECK_FALSE(end.succeeded());
}

TEST_CASE("foreign program: a file that is no program is not given to a shell") {
  const Script script("");
  std::ofstream(script.path) << "echo ran\n";
  const ForeignEnd end = script.run();
  CHECK(end.how == How::NotStarted);
  CHECK(end.code == ENOEXEC);
}

TEST_CASE("foreign program: hidden variables are not seen") {
  setenv("STAGECRAFT_TEST_A", "1", 1);  // NOLINT(concurrency-mt-unsafe): one thread
  setenv("STAGECRAFT_TESTS", "2", 1);   // NOLINT(concurrency-mt-unsafe)
  ForeignProgram call{.command = {"sh", "-c", "echo ${STAGECRAFT_TEST_A-none} ${STAGECRAFT_TESTS-none}"}};
  CHECK(run_foreign_program(call).output == "1 2\n");
  call.hidden_variables = {"STAGECRAFT_TEST_"};
  CHECK(run_foreign_program(call).output == "none 2\n");
  call.hidden_variables = {"STAGECRAFT_TESTS", "STAGECRAFT_TEST"};
  CHECK(run_foreign_program(call).output == "1 none\n");
  unsetenv("STAGECRAFT_TEST_A");  // NOLINT(concurrency-mt-unsafe)
  unsetenv("STAGECRAFT_TESTS");   // NOLINT(concurrency-mt-unsafe)
}

TEST_CASE("foreign program: it may leave its input unread") {
  const std::string input(5'000'000, 'x');
  CHECK(Script("echo early").run(input).output == "early\n");
  CHECK(Script("exec <&-; sleep 0.1; echo closed").run(input).output == "closed\n");
  CHECK(Script("head -c 3").run(input).output == "xxx");
}

TEST_CASE("foreign program: it says how it ended") {
  const ForeignEnd left = Script("exit 7").run();
  CHECK(left.how == How::Left);
  CHECK(left.code == 7);
  CHECK_FALSE(left.succeeded());
  const ForeignEnd killed = Script("kill -TERM $$").run();
  CHECK(killed.how == How::Killed);
  CHECK(killed.code == SIGTERM);
  const ForeignEnd missing = run_foreign_program({.command = {"/nonexistent"}});
  CHECK(missing.how == How::NotStarted);
  CHECK(missing.code == ENOENT);
}

TEST_CASE("foreign program: one that takes too long is killed, whatever it does with its streams and signals") {
  for (const char* text : {"sleep 60", "exec >&- 2>&-; sleep 60", "trap '' TERM INT HUP; sleep 60 & wait",
                           "while :; do echo x >&2; done"}) {
    CAPTURE(text);
    const auto began = std::chrono::steady_clock::now();
    CHECK(Script(text).run("", Seconds(0.2)).how == How::TooSlow);
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(20));
  }
}

TEST_CASE("foreign program: one that writes too much is killed; of its errors the end is kept") {
  const ForeignEnd much = Script("cat /dev/zero").run();
  CHECK(much.how == How::TooMuch);
  CHECK(much.output.size() < 2'000'000);
  const ForeignEnd loud = Script("head -c 1000000 /dev/zero >&2; echo end >&2").run();
  CHECK(loud.how == How::Left);
  CHECK(loud.errors.size() == 65536);
  CHECK(loud.errors.ends_with("end\n"));
  CHECK(loud.are_errors_cut);
}

TEST_CASE("foreign program: what it leaves behind is not waited for, and is killed") {
  const Script script("sleep 60 & echo $! >\"$(dirname \"$0\")/pid\"; echo answer");
  const auto began = std::chrono::steady_clock::now();
  const ForeignEnd end = script.run();
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(20));
  CHECK(end.how == How::Left);
  CHECK(end.output == "answer\n");
  const pid_t grandchild = std::stoi(script.wrote("pid"));
  CHECK(becomes([&] { return is_gone(grandchild); }));
}

TEST_CASE("foreign program: it gets the standard streams, no other descriptor, and signals as they are by default") {
  const int extra = open("/dev/null", O_RDONLY);  // NOLINT(cppcoreguidelines-pro-type-vararg): the system's interface
  REQUIRE(extra > 2);
  std::signal(SIGUSR1, SIG_IGN);
  CHECK(Script("ls /proc/self/fd | tr '\\n' ' '").run().output == "0 1 2 3 ");  // 3 is the folder that ls reads
  CHECK(Script("kill -USR1 $$; sleep 1").run().code == SIGUSR1);
  std::signal(SIGUSR1, SIG_DFL);
  close(extra);
}

TEST_CASE("foreign program: it dies with us, and its children do") {
  const Script script("sleep 60 & echo $! >\"$(dirname \"$0\")/child\"; echo $$ >\"$(dirname \"$0\")/self\"; wait");
  const pid_t parent = fork();
  if (parent == 0) {
    static_cast<void>(script.run());
    _exit(0);
  }
  REQUIRE(becomes([&] { return script.wrote("self").ends_with('\n'); }));
  const pid_t self = std::stoi(script.wrote("self"));
  const pid_t child = std::stoi(script.wrote("child"));
  CHECK(is_alive(child));
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  CHECK(becomes([&] { return is_gone(self) && is_gone(child); }));
}

}  // namespace
}  // namespace stagecraft::foreign_program_test
