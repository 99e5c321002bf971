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
constexpr int kMostIdleDeaths = 10;  // of workers that had no cell in hand

/// A counter that a process shares with its children.
class SharedCounter {
 public:
  SharedCounter() {
    void* page = mmap(nullptr, sizeof(Counter), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw InternalError("no shared memory");
    counter_ = std::construct_at(static_cast<Counter*>(page), 0);
  }
  ~SharedCounter() { munmap(static_cast<void*>(counter_), sizeof(Counter)); }
  SharedCounter(const SharedCounter&) = delete;
  SharedCounter& operator=(const SharedCounter&) = delete;
  SharedCounter(SharedCounter&&) = delete;
  SharedCounter& operator=(SharedCounter&&) = delete;

  std::size_t take() { return counter_->fetch_add(1); }
  [[nodiscard]] std::size_t value() const { return counter_->load(); }

 private:
  using Counter = std::atomic<std::size_t>;
  static_assert(Counter::is_always_lock_free);
  Counter* counter_ = nullptr;
};

/// What a worker tells its parent; each carries the position of a cell in the pass, or the failure.
enum class WorkerFrame : std::uint32_t { Started, Ended, Failed, ToRetry, Broken };

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

Row run_attempts(CellRunner& runner, const StudyCell& cell, std::int64_t attempts) {
  Row row = runner.run(cell);
  for (std::int64_t i = 1; i < attempts && depends_on_machine(row.status); ++i) row = runner.run(cell);
  return row;
}

/// The worker's side: takes the next cell until there is none.
void work(const Pass& pass, SharedCounter& next, FrameSender& sender) {
  const auto send = [&](WorkerFrame kind, const std::string& bytes) {
    sender.send(static_cast<std::uint32_t>(kind), bytes);
  };
  try {
    CellRunner runner(pass.manifest);
    ShardWriter shard(pass.folder, pass.choices.shard_prefix);
    for (std::size_t i = next.take(); i < pass.cells.size(); i = next.take()) {
      send(WorkerFrame::Started, encode_position(i));
      const Row row = run_attempts(runner, pass.manifest.cells[pass.cells[i]], pass.attempts);
      const bool is_kept = pass.is_last || !depends_on_machine(row.status);
      if (is_kept) shard.append(row);
      const WorkerFrame kind = !is_kept                 ? WorkerFrame::ToRetry
                               : is_failure(row.status) ? WorkerFrame::Failed
                                                        : WorkerFrame::Ended;
      send(kind, encode_position(i));
    }
  } catch (const std::exception& error) {
    send(WorkerFrame::Broken, encode(failure_record(error)));
  }
}

struct Worker {
  std::unique_ptr<ChildProcess> process;
  std::optional<std::size_t> in_hand;  ///< position of the cell it runs
};

/// The parent's side of a pass.
class Supervisor {
 public:
  Supervisor(const Pass& pass, StudyProgress& progress) : pass_(pass), progress_(progress) {}

  /// The cells to run again; none if it was told to stop.
  std::optional<std::vector<std::size_t>> run() {
    const auto wanted = std::min(static_cast<std::size_t>(pass_.workers), pass_.cells.size());
    for (std::size_t i = 0; i < wanted; ++i) start_worker();
    while (!workers_.empty()) {
      if (pass_.choices.should_stop()) return std::nullopt;
      listen();
      if (is_interrupted_) return std::nullopt;
      pass_.choices.progress(progress_);
    }
    return again_;
  }

 private:
  void start_worker() {
    workers_.push_back({std::make_unique<ChildProcess>([&](FrameSender& sender) { work(pass_, next_, sender); }), {}});
  }

  void listen() {
    std::vector<ChildProcess*> processes;
    for (const Worker& worker : workers_) processes.push_back(worker.process.get());
    ChildProcess::wait_for_any(processes, kLook);
    for (Worker& worker : workers_) take_frames(worker);
    for (Worker& worker : workers_) {
      if (worker.process->has_closed()) bury(worker);
    }
    const auto dead = std::erase_if(workers_, [](const Worker& worker) { return worker.process == nullptr; });
    for (std::size_t i = 0; i < dead && next_.value() < pass_.cells.size(); ++i) start_worker();
  }

  void take_frames(Worker& worker) {
    while (const std::optional<Frame> frame = worker.process->take_frame()) {
      const auto kind = static_cast<WorkerFrame>(frame->kind);
      if (kind == WorkerFrame::Broken) throw_again(decode_failure(frame->bytes));
      const std::size_t position = decode_position(frame->bytes);
      worker.in_hand = kind == WorkerFrame::Started ? std::optional(position) : std::nullopt;
      if (kind == WorkerFrame::ToRetry) again_.push_back(pass_.cells[position]);
      if (kind == WorkerFrame::Ended || kind == WorkerFrame::Failed) count(kind == WorkerFrame::Failed);
    }
  }

  /// A worker that was killed had perhaps a cell in hand: that one is run again, or gets its row from here.
  void bury(Worker& worker) {
    const ChildEnd end = worker.process->wait();
    worker.process.reset();
    if (end.signal == SIGINT) is_interrupted_ = true;
    if (worker.in_hand && pass_.is_last) {
      const StudyCell& cell = pass_.manifest.cells[pass_.cells[*worker.in_hand]];
      ShardWriter(pass_.folder, pass_.choices.shard_prefix)
          .append(failed_row(cell, CellStatus::Crashed, "the worker that ran it was killed"));
      count(true);
    } else if (worker.in_hand) {
      again_.push_back(pass_.cells[*worker.in_hand]);
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
  SharedCounter next_;
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
