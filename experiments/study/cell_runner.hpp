#pragma once

#include "experiments/study/kept_inputs.hpp"
#include "experiments/study/manifest.hpp"
#include "experiments/study/row.hpp"
#include "sim/base/child_process.hpp"

#include <cstddef>
#include <memory>

namespace stagecraft {

/// Runs cells one after another in child processes under the study's limits: whatever a cell does, it costs one row.
/// Cells share one child until one of them leaves process-wide state behind (SimGrid, CBC) or crashes; the next cell
/// then gets a fresh child.
class CellRunner {
 public:
  /// **Requires** a manifest that outlives the runner.
  explicit CellRunner(const Manifest& manifest);
  ~CellRunner();
  CellRunner(const CellRunner&) = delete;
  CellRunner& operator=(const CellRunner&) = delete;
  CellRunner(CellRunner&&) = delete;
  CellRunner& operator=(CellRunner&&) = delete;

  /// **Requires** a process without further threads, which has not run SimGrid itself.
  /// The cell of that position in the manifest.
  /// **Throws** InternalError if the system refuses a process.
  [[nodiscard]] RowLine run(std::size_t position);

 private:
  struct Host;
  void start_host();
  void serve(int orders, const FrameSender& sender) const;
  [[nodiscard]] RowLine ask_host(std::size_t position);

  const Manifest& manifest_;
  KeptInputs inputs_;           ///< of the cells that follow, which are forked with them
  std::unique_ptr<Host> host_;  ///< waits for the next cell; none if the last one left it otherwise
};

}  // namespace stagecraft
