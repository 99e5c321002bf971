#pragma once

#include "experiments/inputs.hpp"
#include "experiments/study/manifest.hpp"
#include "experiments/study/row.hpp"

#include <map>
#include <memory>
#include <string>

namespace stagecraft {

/// Runs cells one after another, each in a child process of its own under the study's limits: whatever a cell does, it
/// costs one row.
class CellRunner {
 public:
  /// **Requires** a manifest that outlives the runner.
  explicit CellRunner(const Manifest& manifest);

  /// **Requires** a process without further threads, which has not run SimGrid itself.
  /// **Throws** InternalError if the system refuses a process.
  [[nodiscard]] Row run(const StudyCell& cell);

 private:
  struct Prepared {
    bool is_light = false;  ///< a cell has loaded these inputs in little time
    std::unique_ptr<Inputs> inputs;
  };
  Prepared& prepare(const Cell& cell);

  const Manifest& manifest_;
  std::map<std::string, Prepared> prepared_;  ///< by `inputs_key`
};

}  // namespace stagecraft
