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
#include <utility>

namespace stagecraft {
namespace {

constexpr std::chrono::milliseconds kLook(100);
constexpr int kMostIdleDeaths = 10;  // deaths of workers in a row during which no cell was taken

/// The queue of a pass: a counter of the cells taken so far, in memory that the workers and their parent share. A
/// worker claims the next cell by incrementing the counter atomically, so no cell is claimed twice and no lock can be
/// left behind by a worker that dies. The parent only reads the counter.
class SharedQueue {
 public:
  explicit SharedQueue(std::size_t cells) : cells_(cells) {
    void* memory = mmap(nullptr, sizeof(Count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw InternalError("no shared memory");
    next_ = std::construct_at(static_cast<Count*>(memory), 0);
  }
  ~SharedQueue() { munmap(static_cast<void*>(next_), sizeof(Count)); }
  SharedQueue(const SharedQueue&) = delete;
  SharedQueue& operator=(const SharedQueue&) = delete;
  SharedQueue(SharedQueue&&) = delete;
  SharedQueue& operator=(SharedQueue&&) = delete;

  /// The position of the next cell; none if all are taken.
  std::optional<std::size_t> take() {
    const std::size_t position = next_->fetch_add(1);
    return position < cells_ ? std::optional(position) : std::nullopt;
  }
  [[nodiscard]] std::size_t taken() const { return std::min(next_->load(), cells_); }
  [[nodiscard]] bool is_empty() const { return taken() == cells_; }

 private:
  using Count = std::atomic<std::size_t>;
  static_assert(Count::is_always_lock_free);

  std::size_t cells_;
  Count* next_ = nullptr;
};

/// A worker's message to its parent. Ended: the cell at this position of the pass has a row. Failed: its row is a
/// failure. ToRetry: it has no row and is to be run again. Broken: the worker itself failed.
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

/// One pass over cells. The first pass runs all cells; the second one runs again those that crashed or ran out of time.
struct Pass {
  const std::string& folder;
  const Manifest& manifest;
  const std::vector<std::size_t>& cells;
  const LocalChoices& choices;
  int workers = 1;
  std::int64_t attempts = 1;
  bool is_last = true;  ///< whether a crash or a timeout becomes a row; otherwise the cell is run again later
};

RowLine run_attempts(CellRunner& runner, std::size_t cell, std::int64_t attempts) {
  RowLine row = runner.run(cell);
  for (std::int64_t i = 1; i < attempts && depends_on_machine(row.status); ++i) row = runner.run(cell);
  return row;
}

/// Runs in the worker process: takes the next cell from the queue, runs it and appends its row to the worker's shard,
/// until the queue is empty. The row is written before the parent is told, so a cell that the parent counts has its
/// row.
void work(const Pass& pass, SharedQueue& queue, FrameSender& sender) {
  const auto send = [&](WorkerFrame kind, const std::string& bytes) {
    sender.send(static_cast<std::uint32_t>(kind), bytes);
  };
  try {
    CellRunner runner(pass.manifest);
    ShardWriter shard(pass.folder, pass.choices.shard_prefix);
    while (const std::optional<std::size_t> position = queue.take()) {
      RowLine row = run_attempts(runner, pass.cells[*position], pass.attempts);
      const bool is_kept = pass.is_last || !depends_on_machine(row.status);
      if (is_kept) shard.append(std::move(row.line));
      const WorkerFrame kind = !is_kept                 ? WorkerFrame::ToRetry
                               : is_failure(row.status) ? WorkerFrame::Failed
                                                        : WorkerFrame::Ended;
      send(kind, encode_position(*position));
    }
  } catch (const std::exception& error) {
    send(WorkerFrame::Broken, encode(failure_record(error)));
  }
}

/// The parent's side of a pass: starts the workers, counts finished cells, replaces workers that die while cells are
/// left in the queue, and finds the cells that a dead worker had claimed.
class Supervisor {
 public:
  Supervisor(const Pass& pass, StudyProgress& progress)
      : pass_(pass), progress_(progress), queue_(pass.cells.size()), has_ended_(pass.cells.size()) {}

  /// Runs the pass. Returns the cells to run again, or none if it was told to stop.
  std::optional<std::vector<std::size_t>> run() {
    const std::size_t wanted = std::min(static_cast<std::size_t>(pass_.workers), pass_.cells.size());
    for (std::size_t i = 0; i < wanted; ++i) start_worker();
    while (!workers_.empty()) {
      if (pass_.choices.should_stop()) return std::nullopt;
      listen();
      if (is_interrupted_) return std::nullopt;
      pass_.choices.progress(progress_);
    }
    settle_lost();
    return again_;
  }

 private:
  using Worker = std::unique_ptr<ChildProcess>;

  void start_worker() {
    workers_.push_back(std::make_unique<ChildProcess>([&](FrameSender& sender) { work(pass_, queue_, sender); }));
  }

  /// Waits for messages, at most kLook, takes them, and replaces dead workers if the queue is not empty.
  void listen() {
    std::vector<ChildProcess*> processes;
    for (const Worker& worker : workers_) processes.push_back(worker.get());
    ChildProcess::wait_for_any(processes, kLook);
    std::size_t dead = 0;
    for (Worker& worker : workers_) {
      take_frames(*worker);
      if (!worker->has_closed()) continue;
      bury(worker);
      ++dead;
    }
    std::erase(workers_, nullptr);
    for (; dead > 0 && !queue_.is_empty(); --dead) start_worker();
  }

  void take_frames(ChildProcess& worker) {
    while (const std::optional<Frame> frame = worker.take_frame()) {
      const auto kind = static_cast<WorkerFrame>(frame->kind);
      if (kind == WorkerFrame::Broken) throw_again(decode_failure(frame->bytes));
      const std::size_t position = decode_position(frame->bytes);
      has_ended_[position] = true;
      if (kind == WorkerFrame::ToRetry) again_.push_back(pass_.cells[position]);
      if (kind == WorkerFrame::Ended || kind == WorkerFrame::Failed) count(kind == WorkerFrame::Failed);
    }
  }

  /// Removes a worker that has ended. If it died, checks that the workers still make progress: if none of the last
  /// kMostIdleDeaths deaths was preceded by the claim of a cell, new workers would only die as well.
  void bury(Worker& worker) {
    const ChildEnd end = worker->wait();
    worker.reset();
    if (end.signal == SIGINT) is_interrupted_ = true;
    if (end.signal == 0 && end.exit_code == 0) return;
    const std::size_t taken = queue_.taken();
    idle_deaths_ = taken == taken_at_death_ ? idle_deaths_ + 1 : 0;
    taken_at_death_ = taken;
    if (idle_deaths_ > kMostIdleDeaths)
      throw InternalError("the workers keep dying; the last one wrote: " + end.errors);
  }

  /// Handles the cells that were claimed but never reported, because their worker was killed: each is run again in the
  /// next pass, or gets a `crashed` row here if this pass is the last.
  void settle_lost() {
    for (std::size_t i = 0; i < pass_.cells.size(); ++i) {
      if (has_ended_[i]) continue;
      if (!pass_.is_last) {
        again_.push_back(pass_.cells[i]);
        continue;
      }
      const StudyCell& cell = pass_.manifest.cells[pass_.cells[i]];
      ShardWriter(pass_.folder, pass_.choices.shard_prefix)
          .append(to_line(failed_row(cell.key, CellStatus::Crashed, "the worker that ran it was killed")));
      count(true);
    }
  }

  void count(bool failed) {
    ++progress_.done;
    if (failed) ++progress_.failed;
  }

  const Pass& pass_;
  StudyProgress& progress_;
  SharedQueue queue_;
  std::vector<Worker> workers_;
  std::vector<bool> has_ended_;  ///< by position in the pass: whether a worker has reported the cell
  std::vector<std::size_t> again_;
  std::size_t taken_at_death_ = 0;  ///< cells taken from the queue when a worker last died
  int idle_deaths_ = 0;             ///< deaths in a row without a cell taken in between
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
