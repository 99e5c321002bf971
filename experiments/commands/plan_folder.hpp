#pragma once

#include "experiments/run/planning.hpp"
#include "sim/model/platform.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// The folder in which a comparison keeps its plans: `ROW.yaml`, or `MODEL/ROW.yaml` if it has several models. The name
/// of a row is that of its planner, or `PLANNER-with-SCHEDULE`.
class PlanFolder {
 public:
  /// Makes the folder and those of the models. `others` are the names, as those of rows, of what the caller writes
  /// beside the plans, and may replace.
  /// **Throws** InputError if that is not possible, if two files would have one name, or if a file with the name of a
  /// plan is no plan; then before anything is written.
  PlanFolder(std::string path, const std::vector<std::string>& models, const std::vector<std::string>& rows,
             const std::vector<std::string>& others = {});

  /// Writes the plan of a planning that has one, and returns the file's name. **Throws** as `write_file_atomically`.
  [[nodiscard]] std::string keep(const std::string& model, const std::string& row, const Planning& planning,
                                 const Platform& platform) const;
  [[nodiscard]] std::string keep(const std::string& model, const std::string& row, const Plan& plan,
                                 const LayerGraph& graph, const Platform& platform) const;
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The name of the file of a row.
  [[nodiscard]] std::string file_of(const std::string& model, const std::string& row) const;

 private:
  std::string path_;
  bool has_models_;
};

}  // namespace stagecraft
