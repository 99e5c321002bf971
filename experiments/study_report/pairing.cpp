#include "experiments/study_report/pairing.hpp"

#include "sim/io/json.hpp"

#include <map>
#include <string>

namespace stagecraft {
namespace {

/// The keys and the seed that a cell and its partner have in common, as text: all keys but those of the pattern and, if
/// `any_planner`, those of the contender.
std::string common_key(const Cell& cell, const SortedCells& sorted, const Keys& pattern, bool any_planner) {
  Keys common = canonical(cell.keys);
  std::erase_if(common, [&](const auto& entry) {
    return (any_planner && says_who(sorted, entry.first)) || find_key(pattern, entry.first) != nullptr;
  });
  return to_json(common, -1) + std::to_string(cell.seed);
}

}  // namespace

Pairing pair_cells(const std::vector<StudyCell>& cells, const SortedCells& sorted, const Keys& pattern,
                   bool any_planner) {
  Pairing pairing;
  pairing.of.resize(cells.size());
  std::map<std::string, std::size_t> chosen;
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i].cell;
    keys.push_back(common_key(cell, sorted, pattern, any_planner));
    if (!matches(cell.keys, pattern)) continue;
    pairing.fits_any = true;
    const auto [known, is_new] = chosen.emplace(keys.back(), i);
    if (is_new) continue;
    pairing.contenders.insert({sorted.contender_of[known->second], sorted.contender_of[i]});
    if (sorted.contender_of[i] < sorted.contender_of[known->second]) known->second = i;
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto found = chosen.find(keys[i]);
    if (found != chosen.end()) pairing.of[i] = found->second;
  }
  return pairing;
}

}  // namespace stagecraft
