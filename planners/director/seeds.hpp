#pragma once

#include "planners/planner.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft::director {

/// A plan of another planner.
struct Seed {
  std::string name;  ///< of the planner, with the options and the schedule that it was given
  Planned planned;
};

/// What the other planners answer to a request.
struct Seeds {
  std::vector<Seed> plans;            ///< no two of them run alike
  std::int64_t asked = 0;             ///< planners and their variants
  std::optional<Infeasible> refusal;  ///< of those without a plan the answer that says most
  double work = 0.0;                  ///< as in `Planned`
};

/// Asks every planner of `names`, as a user would: with its defaults and some variants, with the request's schedule or
/// else its own, or `1f1b` if that does not flush. Planners that refuse the request, such as for its schedule, are left
/// out. `names`: `all`, which are all that `compare` takes, or names with commas.
/// **Throws** InputError for an unknown name; if every planner refuses the request, as the first one.
[[nodiscard]] Seeds ask_seeds(const PlanRequest& request, const std::string& names);

}  // namespace stagecraft::director
