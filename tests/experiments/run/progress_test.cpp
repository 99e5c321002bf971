#include "experiments/run/progress.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <string>

namespace stagecraft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kNever(86'400'000);

/// A pipe that takes the place of standard error.
class Pipe {
 public:
  Pipe() { REQUIRE(pipe(ends_.data()) == 0); }
  ~Pipe() {
    close_reader();
    close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  Pipe(Pipe&&) = delete;
  Pipe& operator=(Pipe&&) = delete;

  void close_reader() {
    if (ends_[0] >= 0) close(ends_[0]);
    ends_[0] = -1;
  }
  /// Fills the pipe, and returns how many bytes it took.
  std::size_t fill() {
    fcntl(ends_[1], F_SETFL, O_NONBLOCK);
    std::size_t size = 0;
    while (::write(ends_[1], "x", 1) == 1) ++size;
    fcntl(ends_[1], F_SETFL, 0);
    return size;
  }
  /// What has been written since the last look; waits for it if `waits`.
  std::string take(bool waits = false) {
    pollfd end{ends_[0], POLLIN, 0};
    if (!waits && poll(&end, 1, 0) != 1) return "";
    std::array<char, 4096> bytes{};
    const ssize_t size = ::read(ends_[0], bytes.data(), bytes.size());
    return {bytes.data(), size < 0 ? 0 : static_cast<std::size_t>(size)};
  }
  [[nodiscard]] ProgressPlan lines() const { return {ends_[1], false, kNever, kNever}; }
  [[nodiscard]] ProgressPlan rewritten() const { return {ends_[1], true, kNever, kNever}; }

 private:
  std::array<int, 2> ends_{-1, -1};
};

/// What the timer does when a line is due.
void tick() { std::raise(SIGURG); }

TEST_CASE("progress: the line names the activities from the outermost on, with what is done of them") {
  CHECK(progress_text(nullptr, seconds(20)) == "stagecraft: after 20 s still running");
  Activity outer("comparing");
  CHECK(progress_text(&outer, seconds(20)) == "stagecraft: after 20 s still comparing");
  outer.count(3, 10, "planners");
  const Activity inner("planning with spp");
  CHECK(progress_text(&inner, seconds(119)) ==
        "stagecraft: after 119 s still comparing, 3 of 10 planners: planning with spp");
  outer.count_failed(2);
  CHECK(progress_text(&outer, seconds(120)) == "stagecraft: after 2 min still comparing, 3 of 10 planners, 2 failed");
  CHECK(progress_text(&outer, seconds(7200)).starts_with("stagecraft: after 2 h 0 min "));
}

TEST_CASE("progress: of many parts the share is told, and the time left once some are done") {
  Activity activity("evaluating");
  activity.count(0, 1'000'000, "microbatches");
  CHECK(progress_text(&activity, seconds(5)) == "stagecraft: after 5 s still evaluating, 0 % of 1000000 microbatches");
  activity.count(250'000, 1'000'000, "microbatches");
  const std::string text = progress_text(&activity, seconds(5));
  CHECK(text.find(", 25 % of 1000000 microbatches, ") != std::string::npos);
  CHECK(text.ends_with(" left"));
  activity.count(1'000'001, 1'000'000, "microbatches");  // what failed is run again
  CHECK(progress_text(&activity, seconds(5)).ends_with(", 100 % of 1000000 microbatches"));
}

TEST_CASE("progress: a narrow terminal has the words that fit, so no number loses digits") {
  Activity activity("evaluating");
  activity.count(0, 1'000'000, "microbatches");
  const std::string whole = progress_text(&activity, seconds(5));
  for (std::size_t columns = 0; columns < whole.size(); ++columns) {
    const std::string text = progress_text(&activity, seconds(5), columns);
    CHECK(text.size() <= columns);
    CHECK(whole.starts_with(text));
    CHECK((text.empty() || whole[text.size()] == ' '));
  }
  CHECK(progress_text(&activity, seconds(5), whole.size()) == whole);
}

TEST_CASE("progress: nothing is shown before it is due") {
  Pipe pipe;
  {
    const ProgressWatch watch(pipe.lines());
  }
  {
    const ProgressWatch watch(pipe.rewritten());
  }
  CHECK(pipe.take().empty());
}

TEST_CASE("progress: a line each time where lines cannot be rewritten") {
  Pipe pipe;
  const Activity activity("planning");
  {
    const ProgressWatch watch(pipe.lines());
    tick();
    tick();
  }
  CHECK(pipe.take() == "stagecraft: after 0 s still planning\nstagecraft: after 0 s still planning\n");
}

TEST_CASE("progress: a terminal's line is rewritten, and removed at the end") {
  Pipe pipe;
  const Activity activity("planning");
  {
    const ProgressWatch watch(pipe.rewritten());
    tick();
    CHECK(pipe.take() == "\rstagecraft: after 0 s still planning\x1b[K");
  }
  CHECK(pipe.take() == "\r\x1b[K");
}

TEST_CASE("progress: a message finds an empty line, and no progress until it is written") {
  Pipe pipe;
  const ProgressWatch watch(pipe.rewritten());
  tick();
  static_cast<void>(pipe.take());
  {
    const ProgressPause pause;
    CHECK(pipe.take() == "\r\x1b[K");
    tick();
    CHECK(pipe.take().empty());
  }
  tick();
  CHECK(!pipe.take().empty());
}

TEST_CASE("progress: nobody who reads, or does not, stops the program") {
  Pipe full;
  {
    const ProgressWatch watch(full.lines());
    const std::size_t size = full.fill();
    tick();  // does not wait
    CHECK(size > 0);
  }
  Pipe gone;
  const ProgressWatch watch(gone.lines());
  gone.close_reader();
  tick();  // no SIGPIPE
}

TEST_CASE("progress: the timer interrupts what the program does") {
  Pipe pipe;
  ProgressPlan plan = pipe.lines();
  plan.first = milliseconds(1);
  const ProgressWatch watch(plan);
  CHECK(pipe.take(true).starts_with("stagecraft: after "));  // a read that waits goes on after the interruption
}

}  // namespace
}  // namespace stagecraft
