#include "experiments/run/progress.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <string_view>

namespace stagecraft {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kFirstOnTerminal(2000);
constexpr std::chrono::milliseconds kEveryOnTerminal(1000);
constexpr std::chrono::milliseconds kEveryElsewhere(10'000);
constexpr std::uint64_t kMostListedParts = 10'000;  ///< more are shown as a share
constexpr std::uint64_t kLeastForEstimate = 10;     ///< parts done, before the time of the others is estimated
constexpr std::uint64_t kSecondsShown = 120;
constexpr std::uint64_t kMinutesShown = 7200;  ///< in seconds

/// A line made without an allocation, as a signal handler has to.
class ShortLine {
 public:
  ShortLine& operator<<(std::string_view text) {
    const std::size_t size = std::min(text.size(), bytes_.size() - size_);
    std::copy_n(text.begin(), size, bytes_.begin() + static_cast<std::ptrdiff_t>(size_));
    size_ += size;
    return *this;
  }
  ShortLine& operator<<(std::uint64_t number) {
    std::array<char, 20> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return *this << std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data()));
  }
  /// Keeps the words that fit in so many characters, so that no number loses its last digits.
  void cut(std::size_t characters) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i <= size_; ++i) {
      if (i == size_ || bytes_[i] == ' ') kept = i;
      const bool begins = i == size_ || (static_cast<unsigned char>(bytes_[i]) & 0xC0U) != 0x80U;
      if (begins && characters-- == 0) break;
    }
    size_ = kept;
  }
  [[nodiscard]] std::string_view text() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, 640> bytes_{};
  std::size_t size_ = 0;
};

void add_time(ShortLine& line, std::uint64_t seconds) {
  if (seconds < kSecondsShown) {
    line << seconds << " s";
  } else if (seconds < kMinutesShown) {
    line << seconds / 60 << " min";
  } else {
    line << seconds / 3600 << " h " << seconds / 60 % 60 << " min";
  }
}

/// `, 12 of 40 cells, 1 failed, 3 min left`.
void add_count(ShortLine& line, const Activity& activity) {
  const std::uint64_t done = activity.done();
  const std::uint64_t total = activity.total();
  line << ", ";
  if (total > kMostListedParts) {
    const double share = 100.0 * static_cast<double>(std::min(done, total)) / static_cast<double>(total);
    line << static_cast<std::uint64_t>(share) << " % of ";
  } else {
    line << done << " of ";
  }
  line << total << " " << activity.noun();
  if (activity.failed() > 0) line << ", " << activity.failed() << " failed";
  if (done < kLeastForEstimate || done >= total) return;
  const double spent = std::chrono::duration<double>(Clock::now() - activity.start()).count();
  const double left = spent / static_cast<double>(done) * static_cast<double>(total - done);
  line << ", ";
  add_time(line, static_cast<std::uint64_t>(std::min(std::ceil(left), 1e9)));
  line << " left";
}

/// The activities from the outermost on.
void add_activities(ShortLine& line, const Activity* innermost) {
  if (innermost == nullptr) return;
  add_activities(line, innermost->outer());
  line << (innermost->outer() == nullptr ? " " : ": ") << innermost->text();
  if (innermost->noun() != nullptr) add_count(line, *innermost);
}

ShortLine progress_line(const Activity* innermost, std::chrono::seconds spent) {
  ShortLine line;
  line << "stagecraft: after ";
  add_time(line, static_cast<std::uint64_t>(spent.count()));
  line << " still";
  if (innermost == nullptr) line << " running";
  add_activities(line, innermost);
  return line;
}

/// What the handler needs. It is changed only while the handler cannot run, or does not look at it.
struct Watched {
  ProgressPlan plan;
  Clock::time_point start;
  timer_t timer = nullptr;
  struct sigaction old = {};
  volatile std::sig_atomic_t is_on = 0;
  volatile std::sig_atomic_t is_paused = 0;
  volatile std::sig_atomic_t is_shown = 0;  ///< a line that is to be removed
  pid_t process = 0;
};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a signal handler has no other way to it
Watched watched;

/// Whether a text can be written without waiting, to someone who reads.
bool takes_text(int descriptor) {
  pollfd end{descriptor, POLLOUT, 0};
  return poll(&end, 1, 0) == 1 && end.revents == POLLOUT;
}

void write_text(std::string_view text) {
  if (!takes_text(watched.plan.descriptor)) return;
  static_cast<void>(write(watched.plan.descriptor, text.data(), text.size()) > 0);  // a lost line is no harm
}

void show_progress(int) {
  const int error = errno;
  if (watched.is_on != 0 && watched.is_paused == 0) {
    const auto spent = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - watched.start);
    ShortLine line = progress_line(current_activity(), spent);
    if (watched.plan.rewrites) {
      winsize size{};
      if (ioctl(watched.plan.descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) line.cut(size.ws_col - 1U);
      ShortLine whole;
      whole << "\r" << line.text() << "\x1b[K";
      watched.is_shown = 1;
      write_text(whole.text());
    } else {
      line << "\n";
      write_text(line.text());
    }
  }
  errno = error;
}

timespec as_timespec(std::chrono::milliseconds time) {
  return {static_cast<time_t>(time.count() / 1000), static_cast<long>(time.count() % 1000 * 1'000'000)};
}

}  // namespace

ProgressPlan usual_progress() {
  if (isatty(STDERR_FILENO) == 1) return {STDERR_FILENO, true, kFirstOnTerminal, kEveryOnTerminal};
  return {STDERR_FILENO, false, kEveryElsewhere, kEveryElsewhere};
}

ProgressWatch::ProgressWatch(const ProgressPlan& plan) {
  watched.plan = plan;
  watched.start = Clock::now();
  watched.is_shown = 0;
  watched.is_paused = 0;
  watched.process = getpid();
  struct sigaction action{};
  action.sa_handler = show_progress;
  action.sa_flags = SA_RESTART;
  sigaction(SIGURG, &action, &watched.old);
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGURG;
  if (timer_create(CLOCK_MONOTONIC, &event, &watched.timer) != 0) return;  // then there is no progress
  watched.is_on = 1;
  itimerspec times{};
  times.it_value = as_timespec(plan.first);
  times.it_interval = as_timespec(plan.every);
  timer_settime(watched.timer, 0, &times, nullptr);
}

ProgressWatch::~ProgressWatch() {
  if (watched.is_on != 0) timer_delete(watched.timer);
  watched.is_on = 0;
  wipe_progress();
  sigaction(SIGURG, &watched.old, nullptr);
}

ProgressPause::ProgressPause() {
  watched.is_paused = 1;
  wipe_progress();
}

ProgressPause::~ProgressPause() { watched.is_paused = 0; }

bool shows_progress() { return watched.is_on != 0 && Clock::now() - watched.start >= watched.plan.first; }

void wipe_progress() {
  if (watched.is_shown == 0 || watched.process != getpid()) return;
  watched.is_shown = 0;
  write_text("\r\x1b[K");
}

std::string progress_text(const Activity* innermost, std::chrono::seconds spent, std::size_t columns) {
  ShortLine line = progress_line(innermost, spent);
  line.cut(columns);
  return std::string(line.text());
}

}  // namespace stagecraft
