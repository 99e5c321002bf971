#include "sim/base/child_process.hpp"

#include "sim/base/error.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

namespace stagecraft {
namespace {

TEST_CASE("child process: frames arrive in order, whatever their size") {
  ChildProcess child([](FrameSender& sender) {
    sender.send(7, "seven");
    sender.send(8, "");
    sender.send(9, std::string(1000000, 'x'));
  });
  CHECK(child.receive() == Frame{7, "seven"});
  CHECK(child.receive() == Frame{8, ""});
  CHECK(child.receive() == Frame{9, std::string(1000000, 'x')});
  CHECK_FALSE(child.receive().has_value());
  const ChildEnd end = child.wait();
  CHECK(end.exit_code == 0);
  CHECK(end.signal == 0);
  CHECK(end.errors.empty());
}

TEST_CASE("child process: standard error is kept, its end if it is long") {
  ChildProcess child([](FrameSender&) {
    const std::string line(1023, 'e');
    for (int i = 0; i < 200; ++i) std::fprintf(stderr, "%s\n", line.c_str());
    std::fputs("the end", stderr);
  });
  const std::string errors = child.wait().errors;
  CHECK(errors.size() == std::size_t{64} * 1024);
  CHECK(errors.ends_with("the end"));
}

TEST_CASE("child process: an exception that escapes is an exit code and a message") {
  ChildProcess child([](FrameSender&) { throw std::runtime_error("out of luck"); });
  CHECK_FALSE(child.receive().has_value());
  const ChildEnd end = child.wait();
  CHECK(end.exit_code == 1);
  CHECK(end.errors == "out of luck");
}

TEST_CASE("child process: a death by a signal is told, and a frame it cut short is not") {
  ChildProcess child([](FrameSender& sender) {
    sender.send(1, "whole");
    std::raise(SIGKILL);
  });
  CHECK(child.receive() == Frame{1, "whole"});
  CHECK_FALSE(child.receive().has_value());
  CHECK(child.wait().signal == SIGKILL);
}

TEST_CASE("child process: frames left unread do not hold up the end") {
  ChildProcess child([](FrameSender& sender) { sender.send(1, std::string(1000000, 'x')); });
  CHECK(child.wait().exit_code == 0);
}

TEST_CASE("child process: what stands in a stream's buffer is written once") {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  std::FILE* stream = fdopen(ends[1], "w");
  REQUIRE(stream != nullptr);
  std::fputs("once", stream);
  ChildProcess child([&](FrameSender&) { std::fflush(stream); });
  child.wait();
  std::fclose(stream);  // NOLINT(cppcoreguidelines-owning-memory): C opened it, C closes it
  std::array<char, 16> buffer{};
  CHECK(read(ends[0], buffer.data(), buffer.size()) == 4);
  close(ends[0]);
}

bool is_alive(pid_t pid) { return kill(pid, 0) == 0 || errno != ESRCH; }

bool dies_soon(pid_t pid) {
  for (int i = 0; i < 500 && is_alive(pid); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return !is_alive(pid);
}

pid_t pid_in(const std::optional<Frame>& frame) { return static_cast<pid_t>(std::stol(frame.value().bytes)); }

TEST_CASE("child process: it does not outlive its object") {
  pid_t pid = 0;
  {
    ChildProcess child([](FrameSender& sender) {
      sender.send(1, std::to_string(getpid()));
      for (;;) pause();
    });
    pid = pid_in(child.receive());
    CHECK(is_alive(pid));
  }
  CHECK(dies_soon(pid));
}

// The process in the middle stands for a user's program that is interrupted while its child works.
TEST_CASE("child process: an interrupt of the parent ends it") {
  ChildProcess middle([](FrameSender& sender) {
    ChildProcess child([](FrameSender& inner) {
      inner.send(1, std::to_string(getpid()));
      std::signal(SIGINT, SIG_IGN);
      for (;;) pause();
    });
    sender.send(1, child.receive().value().bytes);
    sender.send(1, std::to_string(getpid()));
    (void)child.receive();
  });
  const pid_t grandchild = pid_in(middle.receive());
  const pid_t between = pid_in(middle.receive());
  CHECK(is_alive(grandchild));
  kill(between, SIGINT);
  CHECK(middle.wait().signal == SIGINT);
  CHECK(dies_soon(grandchild));
}

}  // namespace
}  // namespace stagecraft
