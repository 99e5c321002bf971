#pragma once

#include "experiments/study/kept_inputs.hpp"
#include "experiments/study/manifest.hpp"
#include "experiments/study/row.hpp"
#include "sim/base/child_process.hpp"

#include <cstddef>
#include <memory>

namespace stagecraft {

/// Runs cells one after another in child processes under the study's limits. A cell that crashes, hangs or needs too
/// much memory affects only its own row. Cells share one child until one of them leaves process-wide state behind
/// (SimGrid, CBC) or crashes; the next cell then gets a fresh child.
class CellRunner {
 public:
  /// **Requires** a manifest that outlives the runner.
  explicit CellRunner(const Manifest& manifest);
  ~CellRunner();
  CellRunner(const CellRunner&) = delete;
  CellRunner& operator=(const CellRunner&) = delete;
  CellRunner(CellRunner&&) = delete;
  CellRunner& operator=(CellRunner&&) = delete;

  /// Runs the cell at that position in the manifest.
  /// **Requires** that this process has only one thread and has not run SimGrid itself, because it forks.
  /// **Throws** InternalError if the system refuses to create a process.
  [[nodiscard]] RowLine run(std::size_t position);

 private:
  struct Host;
  void start_host();
  void serve(int orders, const FrameSender& sender) const;
  [[nodiscard]] RowLine ask_host(std::size_t position);

  const Manifest& manifest_;
  KeptInputs inputs_;           ///< inputs loaded before the fork, so that the children have them in memory
  std::unique_ptr<Host> host_;  ///< the child that waits for the next cell; null if the next cell needs a new one
};

}  // namespace stagecraft
