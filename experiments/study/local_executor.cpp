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
constexpr int kMostIdleDeaths = 10;  // of workers, one after the other, while nobody takes a cell

/// How many cells of a pass have been taken: shared by the workers, which take, and their parent, which looks.
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

/// The parent's side of a pass.
class Supervisor {
 public:
  Supervisor(const Pass& pass, StudyProgress& progress)
      : pass_(pass), progress_(progress), queue_(pass.cells.size()), has_ended_(pass.cells.size()) {}

  /// The cells to run again; none if it was told to stop.
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

  void bury(Worker& worker) {
    const ChildEnd end = worker->wait();
    worker.reset();
    if (end.signal == SIGINT) is_interrupted_ = true;
    if (end.signal == 0 && end.exit_code == 0) return;
    const std::size_t taken = queue_.taken();
    idle_deaths_ = taken == taken_at_death_ ? idle_deaths_ + 1 : 0;
    taken_at_death_ = taken;
    if (idle_deaths_ > kMostIdleDeaths) throw InternalError("workers die; the last wrote: " + end.errors);
  }

  /// A worker that was killed had perhaps a cell in hand: that one is run again, or gets its row from here.
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
  std::vector<bool> has_ended_;  ///< by position in the pass
  std::vector<std::size_t> again_;
  std::size_t taken_at_death_ = 0;
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
