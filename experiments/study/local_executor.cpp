#include "experiments/study/local_executor.hpp"

#include "experiments/study/cell_runner.hpp"
#include "experiments/study/run_cell.hpp"
#include "experiments/study/shard.hpp"
#include "sim/base/child_process.hpp"
#include "sim/base/error.hpp"
#include "sim/replay/records.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::chrono::milliseconds kLook(100);
constexpr int kMostIdleDeaths = 10;  // of workers that had no cell in hand

/// The cells of a pass that nobody has taken yet, and those in hand: shared by the workers, which take, and their
/// parent, which looks.
class SharedQueue {
 public:
  SharedQueue(std::size_t cells, std::size_t workers) : cells_(cells), bytes_((workers + 1) * sizeof(Position)) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw InternalError("no shared memory");
    positions_ = {static_cast<Position*>(memory), workers + 1};
    for (Position& position : positions_) std::construct_at(&position, kNone);
    next() = 0;
  }
  ~SharedQueue() { munmap(static_cast<void*>(positions_.data()), bytes_); }
  SharedQueue(const SharedQueue&) = delete;
  SharedQueue& operator=(const SharedQueue&) = delete;
  SharedQueue(SharedQueue&&) = delete;
  SharedQueue& operator=(SharedQueue&&) = delete;

  /// A worker says what it wants before it takes it: killed in between, it costs that cell a second run, not its row.
  std::optional<std::size_t> take(std::size_t worker) {
    for (std::size_t position = next(); position < cells_;) {
      in_hand(worker) = position;
      if (next().compare_exchange_strong(position, position + 1)) return position;
    }
    in_hand(worker) = kNone;
    return std::nullopt;
  }
  void put_down(std::size_t worker) { in_hand(worker) = kNone; }

  [[nodiscard]] bool is_empty() { return next() >= cells_; }
  /// The cell that a worker has, or had just ended when it died.
  [[nodiscard]] std::optional<std::size_t> taken_by(std::size_t worker) {
    const std::size_t position = in_hand(worker);
    return position == kNone ? std::nullopt : std::optional(position);
  }

 private:
  using Position = std::atomic<std::size_t>;
  static_assert(Position::is_always_lock_free);
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  Position& next() { return positions_.front(); }
  Position& in_hand(std::size_t worker) { return positions_[worker + 1]; }

  std::size_t cells_;
  std::size_t bytes_;
  std::span<Position> positions_;
};

/// What a worker tells its parent: how the cell ended whose position in the pass it gives, or its own failure.
enum class WorkerFrame : std::uint32_t { Ended, Failed, ToRetry, Broken };

std::string encode_position(std::size_t position) {
  std::string bytes(sizeof position, '\0');
  std::memcpy(bytes.data(), &position, sizeof position);
  return bytes;
}

std::size_t decode_position(const std::string& bytes) {
  std::size_t position = 0;
  STAGECRAFT_CHECK(bytes.size() == sizeof position, "a worker tells a position");
  std::memcpy(&position, bytes.data(), sizeof position);
  return position;
}

/// Cells that are run the same way: all of them first, then those that have to be run again.
struct Pass {
  const std::string& folder;
  const Manifest& manifest;
  const std::vector<std::size_t>& cells;
  const LocalChoices& choices;
  int workers = 1;
  std::int64_t attempts = 1;
  bool is_last = true;  ///< whether what depends on the machine becomes a row
};

RowLine run_attempts(CellRunner& runner, std::size_t cell, std::int64_t attempts) {
  RowLine row = runner.run(cell);
  for (std::int64_t i = 1; i < attempts && depends_on_machine(row.status); ++i) row = runner.run(cell);
  return row;
}

/// The worker's side: takes the next cell until there is none.
void work(const Pass& pass, SharedQueue& queue, std::size_t worker, FrameSender& sender) {
  const auto send = [&](WorkerFrame kind, const std::string& bytes) {
    sender.send(static_cast<std::uint32_t>(kind), bytes);
  };
  try {
    CellRunner runner(pass.manifest);
    ShardWriter shard(pass.folder, pass.choices.shard_prefix);
    while (const std::optional<std::size_t> position = queue.take(worker)) {
      RowLine row = run_attempts(runner, pass.cells[*position], pass.attempts);
      const bool is_kept = pass.is_last || !depends_on_machine(row.status);
      if (is_kept) shard.append(std::move(row.line));
      const WorkerFrame kind = !is_kept                 ? WorkerFrame::ToRetry
                               : is_failure(row.status) ? WorkerFrame::Failed
                                                        : WorkerFrame::Ended;
      send(kind, encode_position(*position));
      queue.put_down(worker);
    }
  } catch (const std::exception& error) {
    send(WorkerFrame::Broken, encode(failure_record(error)));
  }
}

struct Worker {
  std::size_t number = 0;  ///< among those that live
  std::unique_ptr<ChildProcess> process;
  std::optional<std::size_t> ended;  ///< position of the last cell that it told of
};

/// The parent's side of a pass.
class Supervisor {
 public:
  Supervisor(const Pass& pass, StudyProgress& progress)
      : pass_(pass),
        progress_(progress),
        wanted_(std::min(static_cast<std::size_t>(pass.workers), pass.cells.size())),
        queue_(pass.cells.size(), wanted_) {}

  /// The cells to run again; none if it was told to stop.
  std::optional<std::vector<std::size_t>> run() {
    for (std::size_t i = 0; i < wanted_; ++i) start_worker(i);
    while (!workers_.empty()) {
      if (pass_.choices.should_stop()) return std::nullopt;
      listen();
      if (is_interrupted_) return std::nullopt;
      pass_.choices.progress(progress_);
    }
    return again_;
  }

 private:
  void start_worker(std::size_t number) {
    const auto body = [&](FrameSender& sender) { work(pass_, queue_, number, sender); };
    workers_.push_back({number, std::make_unique<ChildProcess>(body), {}});
  }

  void listen() {
    std::vector<ChildProcess*> processes;
    for (const Worker& worker : workers_) processes.push_back(worker.process.get());
    ChildProcess::wait_for_any(processes, kLook);
    for (Worker& worker : workers_) take_frames(worker);
    std::vector<std::size_t> dead;
    for (Worker& worker : workers_) {
      if (!worker.process->has_closed()) continue;
      bury(worker);
      dead.push_back(worker.number);
    }
    std::erase_if(workers_, [](const Worker& worker) { return worker.process == nullptr; });
    for (const std::size_t number : dead) {
      if (!queue_.is_empty()) start_worker(number);
    }
  }

  void take_frames(Worker& worker) {
    while (const std::optional<Frame> frame = worker.process->take_frame()) {
      const auto kind = static_cast<WorkerFrame>(frame->kind);
      if (kind == WorkerFrame::Broken) throw_again(decode_failure(frame->bytes));
      const std::size_t position = decode_position(frame->bytes);
      worker.ended = position;
      if (kind == WorkerFrame::ToRetry) again_.push_back(pass_.cells[position]);
      if (kind == WorkerFrame::Ended || kind == WorkerFrame::Failed) count(kind == WorkerFrame::Failed);
    }
  }

  /// A worker that was killed had perhaps a cell in hand: that one is run again, or gets its row from here.
  void bury(Worker& worker) {
    const ChildEnd end = worker.process->wait();
    worker.process.reset();
    if (end.signal == SIGINT) is_interrupted_ = true;
    std::optional<std::size_t> in_hand = queue_.taken_by(worker.number);
    if (in_hand == worker.ended) in_hand.reset();
    queue_.put_down(worker.number);
    if (in_hand && pass_.is_last) {
      const StudyCell& cell = pass_.manifest.cells[pass_.cells[*in_hand]];
      ShardWriter(pass_.folder, pass_.choices.shard_prefix)
          .append(to_line(failed_row(cell, CellStatus::Crashed, "the worker that ran it was killed")));
      count(true);
    } else if (in_hand) {
      again_.push_back(pass_.cells[*in_hand]);
    } else if ((end.signal != 0 || end.exit_code != 0) && ++idle_deaths_ > kMostIdleDeaths) {
      throw InternalError("workers die without a cell in hand; the last wrote: " + end.errors);
    }
  }

  void count(bool failed) {
    ++progress_.done;
    if (failed) ++progress_.failed;
  }

  const Pass& pass_;
  StudyProgress& progress_;
  std::size_t wanted_;
  SharedQueue queue_;
  std::vector<Worker> workers_;
  std::vector<std::size_t> again_;
  int idle_deaths_ = 0;
  bool is_interrupted_ = false;
};

}  // namespace

bool run_locally(const std::string& folder, const Manifest& manifest, const std::vector<std::size_t>& cells,
                 const LocalChoices& choices) {
  StudyProgress progress{.total = cells.size()};
  const std::int64_t retries = manifest.limits.retries;
  const Pass all{folder, manifest, cells, choices, choices.workers, 1, retries == 0};
  std::optional<std::vector<std::size_t>> again = Supervisor(all, progress).run();
  if (!again) return false;
  std::ranges::sort(*again);
  const Pass alone{folder, manifest, *again, choices, 1, retries, true};
  return Supervisor(alone, progress).run().has_value();
}

}  // namespace stagecraft
