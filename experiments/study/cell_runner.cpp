#include "experiments/study/cell_runner.hpp"

#include "experiments/study/cell_inputs.hpp"
#include "experiments/study/large_pages.hpp"
#include "experiments/study/run_cell.hpp"
#include "sim/base/child_process.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <sys/resource.h>
#include <sys/time.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <new>
#include <utility>

namespace stagecraft {
namespace {

enum class CellFrame : std::uint32_t { LightInputs, Row };

constexpr std::chrono::milliseconds kLightLoad(200);
constexpr std::size_t kMostPrepared = 64;

/// The kernel ends the process when its time is up, and gives it no more memory than allowed.
void limit_this_process(const StudyLimits& limits) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (limits.memory) {
    const auto bytes = static_cast<rlim_t>(limits.memory->value());
    const rlimit data{bytes, bytes};
    setrlimit(RLIMIT_DATA, &data);
  }
  std::signal(SIGALRM, SIG_DFL);
  const double whole = std::floor(limits.time.value());
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(whole);
  timer.it_value.tv_usec = static_cast<suseconds_t>((limits.time.value() - whole) * 1e6);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

std::string out_of_memory_text(const StudyLimits& limits) {
  if (!limits.memory) return "the machine has not enough memory";
  return "needs more than the " + format_whole_bytes(*limits.memory) + " of memory that limits.memory gives a cell";
}

/// The child's side.
void run_in_child(const Manifest& manifest, const StudyCell& cell, const Inputs* inputs, FrameSender& sender) {
  const auto send = [&](CellFrame kind, const std::string& bytes) {
    sender.send(static_cast<std::uint32_t>(kind), bytes);
  };
  limit_this_process(manifest.limits);
  try {
    Inputs own;
    if (inputs == nullptr) {
      const auto start = std::chrono::steady_clock::now();
      own = load_inputs(manifest, cell.cell);
      if (std::chrono::steady_clock::now() - start < kLightLoad) send(CellFrame::LightInputs, "");
      inputs = &own;
    }
    send(CellFrame::Row, to_line(run_cell(manifest, cell, *inputs)));
  } catch (const InputError& error) {
    send(CellFrame::Row, to_line(failed_row(cell, CellStatus::Invalid, error.what())));
  } catch (const std::bad_alloc&) {
    send(CellFrame::Row, to_line(failed_row(cell, CellStatus::Crashed, out_of_memory_text(manifest.limits))));
  } catch (const std::exception& error) {
    send(CellFrame::Row, to_line(failed_row(cell, CellStatus::Crashed, error.what())));
  }
}

/// What the end of a child without a row means.
Row row_of_end(const StudyCell& cell, const StudyLimits& limits, const ChildEnd& end) {
  if (end.signal == SIGALRM) {
    return failed_row(cell, CellStatus::Timeout, "was not done after " + format_seconds(limits.time));
  }
  std::string message = "left with exit code " + std::to_string(end.exit_code);
  if (end.signal != 0) {
    message = "died of signal " + std::to_string(end.signal) + " (" + strsignal(end.signal) + ")";
    if (end.signal == SIGKILL) message += ", as when the machine runs out of memory";
  }
  return failed_row(cell, CellStatus::Crashed, std::move(message));
}

/// The first exception of a process looks up some twenty functions, which each cell would do anew.
void throw_once() {
  try {
    throw InternalError("");
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): that was all
  }
}

}  // namespace

CellRunner::CellRunner(const Manifest& manifest) : manifest_(manifest) {
  throw_once();
  use_large_pages();
}

/// Inputs that a cell has loaded in little time are loaded here for the cells that follow, which are then forked with
/// them. Only cells load what may be heavy or harmful.
CellRunner::Prepared& CellRunner::prepare(const Cell& cell) {
  const std::string key = inputs_key(cell);
  if (!prepared_.contains(key) && prepared_.size() == kMostPrepared) prepared_.clear();
  Prepared& prepared = prepared_[key];
  if (prepared.is_light && prepared.inputs == nullptr) {
    prepared.inputs = std::make_unique<Inputs>(load_inputs(manifest_, cell));
  }
  return prepared;
}

/// With its row a cell is done, however long its process would take to end.
Row CellRunner::run(const StudyCell& cell) {
  Prepared& prepared = prepare(cell.cell);
  ChildProcess child([&](FrameSender& sender) { run_in_child(manifest_, cell, prepared.inputs.get(), sender); },
                     ChildErrors::Shared);
  while (const std::optional<Frame> frame = child.receive()) {
    switch (static_cast<CellFrame>(frame->kind)) {
      case CellFrame::LightInputs: prepared.is_light = true; break;
      case CellFrame::Row:
        if (std::optional<Row> row = parse_row(frame->bytes)) return *std::move(row);
        break;
    }
  }
  return row_of_end(cell, manifest_.limits, child.wait());
}

}  // namespace stagecraft
