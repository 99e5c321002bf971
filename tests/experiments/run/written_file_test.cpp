// Files are written completely or not at all.
#include "experiments/run/written_file.hpp"

#include "sim/base/error.hpp"
#include "sim/base/signal_taken.hpp"
#include "tests/experiments/commands/shell.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string>

namespace stagecraft {
namespace {

using test::content_of;
using test::TemporaryFolder;

/// What the folder holds but the file, which stays as it was.
std::ptrdiff_t others_in(const TemporaryFolder& folder) {
  return std::distance(std::filesystem::directory_iterator(folder.path()), {}) - 1;
}

/// Files have at most so many bytes, and what is written beyond is an error.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) : signal_(SIGXFSZ, SIG_IGN) {
    getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SmallFiles() { setrlimit(RLIMIT_FSIZE, &old_); }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;
  SmallFiles(SmallFiles&&) = delete;
  SmallFiles& operator=(SmallFiles&&) = delete;

 private:
  SignalTaken signal_;
  rlimit old_{};
};

}  // namespace

TEST_CASE("written file: parts follow one another, and replace the old content") {
  const TemporaryFolder folder;
  const std::string file = folder / "text";
  test::write(file, "old");
  write_file_atomically(file, [](const TextSink& sink) {
    for (const char* part : {"a", "", "bc"}) sink(part);
  });
  CHECK(content_of(file) == "abc");
  CHECK(others_in(folder) == 0);
}

TEST_CASE("written file: a content that fails, or that has no room, leaves the old file and nothing else") {
  const TemporaryFolder folder;
  const std::string file = folder / "text";
  test::write(file, "old");
  const auto fails = [](const TextSink& sink) {
    sink(std::string(100'000, 'a'));
    throw std::runtime_error("no more");
  };
  CHECK_THROWS_WITH_AS(write_file_atomically(file, fails), "no more", std::runtime_error);
  CHECK(content_of(file) == "old");
  CHECK(others_in(folder) == 0);
  int parts = 0;
  try {
    const SmallFiles small(150'000);
    write_file_atomically(file, [&](const TextSink& sink) {
      for (; parts < 100; ++parts) sink(std::string(100'000, 'a'));
    });
    FAIL("not refused");
  } catch (const InputError& error) {
    CHECK(error.place().file == file);
  }
  CHECK(parts < 100);  // the rest is not made in vain
  CHECK(content_of(file) == "old");
  CHECK(others_in(folder) == 0);
}

TEST_CASE("written file: a signal that ends the process leaves the old file and nothing else") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    CAPTURE(signal);
    const TemporaryFolder folder;
    const std::string file = folder / "text";
    test::write(file, "old");
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      std::signal(signal, SIG_DFL);
      write_file_atomically(file, [&](const TextSink& sink) {
        sink(std::string(100'000, 'a'));
        if (others_in(folder) == 1) std::raise(signal);
      });
      _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == signal);
    CHECK(content_of(file) == "old");
    CHECK(others_in(folder) == 0);
  }
}

TEST_CASE("written file: a signal that is ignored does not end the writing") {
  const TemporaryFolder folder;
  const std::string file = folder / "text";
  const SignalTaken ignored(SIGHUP, SIG_IGN);
  write_file_atomically(file, [](const TextSink& sink) {
    std::raise(SIGHUP);
    sink("new");
  });
  CHECK(content_of(file) == "new");
}

}  // namespace stagecraft
