#include "experiments/study/cell_runner.hpp"

#include "experiments/study/cell_limits.hpp"
#include "experiments/study/run_cell.hpp"
#include "sim/base/child_process.hpp"
#include "sim/base/error.hpp"
#include "sim/base/lasting_state.hpp"
#include "sim/base/text.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <new>
#include <utility>

namespace stagecraft {
namespace {

/// The messages of the child process. LightInputs: the cell's inputs loaded quickly. Row: the cell's row, as a byte for
/// its status and then its line. LastRow: the same, and the child takes no more cells.
enum class CellFrame : std::uint32_t { LightInputs, Row, LastRow };

std::string encode(const RowLine& row) { return static_cast<char>(row.status) + row.line; }
RowLine decode(const std::string& bytes) { return {static_cast<CellStatus>(bytes.at(0)), bytes.substr(1)}; }

constexpr std::chrono::milliseconds kLightLoad(200);

std::string out_of_memory_text(const StudyLimits& limits) {
  if (!limits.memory) return "the machine does not have enough memory";
  return "needs more than the " + format_whole_bytes(*limits.memory) + " of memory that limits.memory gives a cell";
}

Row row_of(const Manifest& manifest, const StudyCell& cell, const KeptInputs& kept, const FrameSender& sender) {
  try {
    const auto start = std::chrono::steady_clock::now();
    const CellSpec spec = read_cell(cell.cell);
    const Inputs inputs = kept.inputs_of(spec);
    if (!kept.has(spec) && std::chrono::steady_clock::now() - start < kLightLoad) {
      sender.send(static_cast<std::uint32_t>(CellFrame::LightInputs), "");
    }
    return run_cell(manifest, cell.key, spec, inputs);
  } catch (const InputError& error) {
    return failed_row(cell.key, CellStatus::Invalid, error.what());
  } catch (const std::bad_alloc&) {
    return failed_row(cell.key, CellStatus::Crashed, out_of_memory_text(manifest.limits));
  } catch (const std::exception& error) {
    return failed_row(cell.key, CellStatus::Crashed, error.what());
  }
}

std::optional<std::size_t> read_order(int orders) {
  std::size_t cell = 0;
  const ssize_t count = recv(orders, &cell, sizeof cell, 0);
  return count == ssize_t{sizeof cell} ? std::optional(cell) : std::nullopt;
}

/// The row of a cell whose child process ended without giving one.
Row row_of_end(const StudyCell& cell, const StudyLimits& limits, const ChildEnd& end) {
  if (end.signal == SIGALRM) {
    return failed_row(cell.key, CellStatus::Timeout, "did not finish within " + format_seconds(limits.time));
  }
  std::string message = "ended with exit code " + std::to_string(end.exit_code);
  if (end.signal != 0) {
    message = "was killed by signal " + std::to_string(end.signal) + " (" + strsignal(end.signal) + ")";
    if (end.signal == SIGKILL) message += ", as happens when the machine runs out of memory";
  }
  return failed_row(cell.key, CellStatus::Crashed, std::move(message));
}

}  // namespace

/// The child process in which cells run, and the socket through which it is told their positions.
struct CellRunner::Host {
  Host() {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) throw InternalError("no socket");
    ours = ends[0];
    theirs = ends[1];
  }
  ~Host() {
    close(ours);
    if (theirs >= 0) close(theirs);
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  Host(Host&&) = delete;
  Host& operator=(Host&&) = delete;

  int ours = -1;
  int theirs = -1;
  bool is_used = false;
  std::unique_ptr<ChildProcess> process;
};

CellRunner::CellRunner(const Manifest& manifest) : manifest_(manifest), inputs_(manifest) {}

CellRunner::~CellRunner() = default;

/// Runs in the child: one cell after another, until a cell crashes or leaves process-wide state that could influence
/// the next one (SimGrid, CBC). The order for the next cell then finds no child, and `run` starts a new one.
void CellRunner::serve(int orders, const FrameSender& sender) const {
  limit_memory(manifest_.limits);
  std::signal(SIGALRM, SIG_DFL);
  bool is_last = false;
  while (const auto order = is_last ? std::nullopt : read_order(orders)) {
    const StudyCell& cell = manifest_.cells[*order];
    set_alarm(manifest_.limits.time);
    const RowLine row = row_line(row_of(manifest_, cell, inputs_, sender));
    set_alarm(Seconds(0));
    is_last = has_lasting_state() || row.status == CellStatus::Crashed;
    sender.send(static_cast<std::uint32_t>(is_last ? CellFrame::LastRow : CellFrame::Row), encode(row));
  }
}

void CellRunner::start_host() {
  host_ = std::make_unique<Host>();
  host_->process = std::make_unique<ChildProcess>(
      [&](FrameSender& sender) {
        close(host_->ours);
        serve(host_->theirs, sender);
      },
      ChildErrors::Shared);
  close(std::exchange(host_->theirs, -1));
}

/// Sends a cell to the child and waits for its row. A cell is done as soon as its row is there; the end of the process
/// is not waited for.
RowLine CellRunner::ask_host(std::size_t position) {
  const StudyCell& cell = manifest_.cells[position];
  host_->is_used = true;
  send(host_->ours, &position, sizeof position, MSG_NOSIGNAL);  // if it fails, the child is dead and no row comes
  while (const std::optional<Frame> frame = host_->process->receive()) {
    const auto kind = static_cast<CellFrame>(frame->kind);
    if (kind == CellFrame::LightInputs) {
      inputs_.mark_light(read_cell(cell.cell));
      continue;
    }
    if (kind == CellFrame::LastRow) host_.reset();
    return decode(frame->bytes);
  }
  const ChildEnd end = host_->process->wait();
  host_.reset();
  return row_line(row_of_end(cell, manifest_.limits, end));
}

/// If a cell crashes in a child that has run other cells, their leftovers may be the cause, above all the memory that
/// they still hold. The cell is then run again in a fresh child, and only that result counts.
RowLine CellRunner::run(std::size_t position) {
  if (inputs_.keep(read_cell(manifest_.cells[position].cell))) host_.reset();
  if (host_ == nullptr) start_host();
  const bool was_used = host_->is_used;
  RowLine row = ask_host(position);
  if (was_used && row.status == CellStatus::Crashed) {
    start_host();
    row = ask_host(position);
  }
  return row;
}

}  // namespace stagecraft
