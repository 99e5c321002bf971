#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/detail.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft {

/// A flag, a count, a number or a word.
using OptionValue = std::variant<bool, std::int64_t, double, std::string>;

/// One row of a planner's option table; the default's alternative is the option's type.
struct OptionInfo {
  std::string name;
  OptionValue default_value;
  std::string description;
  /// Of a word; the default is one of them. None: any word, which the planner judges.
  std::vector<std::string> choices = {};
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
};
/// `true|false`, `count`, `number`, `word`, or the choices joined by `|`.
[[nodiscard]] std::string type_name(const OptionInfo& option);
[[nodiscard]] std::string to_string(const OptionValue& value);

/// A value for every option of one planner's table. Made by `parse_options`.
class Options {
 public:
  explicit Options(std::map<std::string, OptionValue> values) : values_(std::move(values)) {}

  /// **Requires** an option of that name and type in the planner's table.
  [[nodiscard]] bool flag(const std::string& name) const;
  [[nodiscard]] std::int64_t count(const std::string& name) const;
  [[nodiscard]] double number(const std::string& name) const;
  [[nodiscard]] const std::string& word(const std::string& name) const;
  [[nodiscard]] const std::map<std::string, OptionValue>& values() const { return values_; }

 private:
  std::map<std::string, OptionValue> values_;
};

/// What a planner is asked. It outlives neither the graph nor the platform.
struct PlanRequest {
  const LayerGraph& graph;  ///< already at the microbatch size that is planned for
  const Platform& platform;
  ScheduleChoice schedule;
  std::int64_t microbatches = 1;
  Training training;
  Options options;
  bool explain = true;  ///< whether an infeasible answer may cost extra work to say what would do
};

struct Planned {
  Plan plan;
  Detail::Record details;               ///< figures of this planner alone, documented on its page
  std::vector<std::string> notes = {};  ///< what the user should know of the plan, a sentence each
};

/// No plan: an answer, not an error.
struct Infeasible {
  std::string reason;
  std::optional<DeviceId> device;      ///< where it did not fit
  std::optional<std::uint32_t> stage;  ///< or which stage, counted from 0
  Bytes excess;                        ///< by how much
  std::string hint;                    ///< what else might help, where the planner can tell
  /// The least memory (what is reserved included) with which the planner finds a plan if no device has less.
  std::optional<Bytes> smallest_memory = std::nullopt;
  /// The request took so much work that asking again for other sizes would keep the user waiting. Depends on the
  /// request alone, never on a clock.
  bool is_costly = false;
};

using PlanResult = std::variant<Planned, Infeasible>;

/// A planner is a function described by a value.
struct PlannerInfo {
  std::string name;
  std::string summary;
  std::string source;            ///< authors and year, or where the rule comes from
  std::string default_schedule;  ///< empty: it depends on the plan
  std::vector<OptionInfo> options;
  /// **Requires** an acyclic graph with at least one layer, a platform with at least one device, microbatches > 0, and
  /// options parsed with this table. **Throws** InputError for a request the planner does not take.
  std::function<PlanResult(const PlanRequest&)> plan;
  bool only_by_name = false;  ///< for small graphs: compared where it is asked for, not by default
  /// Options that are not in the table are handed on: `true`, `false` and numbers as such, all else as words.
  bool takes_any_option = false;
};

/// The table's defaults, overwritten by `given`, in which a later value replaces an earlier one.
/// **Throws** InputError for an unknown name (listing the known ones and the nearest) and for a value of the wrong type
/// or out of bounds.
[[nodiscard]] Options parse_options(const PlannerInfo& planner,
                                    const std::vector<std::pair<std::string, std::string>>& given);

/// A plan without stages, filled in from the request.
[[nodiscard]] Plan empty_plan(const PlannerInfo& planner, const PlanRequest& request);

}  // namespace stagecraft
