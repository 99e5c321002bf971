#include "experiments/run/begun_models.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <variant>

namespace stagecraft {
namespace {

/// Of the events that change the same thing as `Change`, the one that holds from a microbatch on.
template <class Change>
std::optional<std::size_t> in_force(const Events& listed, std::int64_t microbatch) {
  std::optional<std::size_t> last;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    if (!std::holds_alternative<Change>(listed[i].change) || *listed[i].at_microbatch > microbatch) continue;
    if (!last || *listed[i].at_microbatch >= *listed[*last].at_microbatch) last = i;
  }
  return last;
}

/// The positions in the file of the events whose model or size of a microbatch was trained.
std::set<std::size_t> begun(const Report& report, const Events& listed, const std::vector<NextModel>& models) {
  std::set<std::size_t> found;
  const std::vector<const ReplanQuestion*> changes = changes_of_plan(report);
  for (std::size_t i = 0; i < std::min(changes.size(), report.course.replans.size()); ++i) {
    if (changes[i]->model == 0) continue;
    const std::int64_t microbatch = models[changes[i]->model - 1].microbatch;
    if (const auto event = in_force<ModelChange>(listed, microbatch)) found.insert(*event);
    if (const auto event = in_force<SizeChange>(listed, microbatch)) found.insert(*event);
  }
  return found;
}

}  // namespace

bool changes_work(const Event& event) {
  return std::holds_alternative<ModelChange>(event.change) || std::holds_alternative<SizeChange>(event.change);
}

void leave_out_unbegun(Report& report, const Events& events, const Events& listed,
                       const std::vector<NextModel>& models) {
  if (models.empty()) return;
  const std::set<std::size_t> kept = begun(report, listed, models);
  std::erase_if(report.course.strikes, [&](const Strike& strike) {
    const Event& event = events[strike.event];
    return changes_work(event) && !kept.contains(event.listed);
  });
}

}  // namespace stagecraft
