#include "experiments/study_report/contenders.hpp"

#include "sim/base/text.hpp"
#include "sim/io/json.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace stagecraft {
namespace {

bool is_who(std::string_view key, const std::vector<std::string>& own_keys) {
  return key == "planner" || key == "label" || is_option_key(key) || std::ranges::find(own_keys, key) != own_keys.end();
}

/// The keys of a cell that identify its contender, sorted by name, so that equal contenders have equal keys.
Keys who_keys(const Keys& keys, const std::vector<std::string>& own_keys) {
  Keys who;
  for (const auto& entry : keys) {
    if (is_who(entry.first, own_keys)) who.push_back(entry);
  }
  std::ranges::sort(who, {}, &Keys::value_type::first);
  return who;
}

/// Whether a key differs and belongs to the contenders, as `own_keys` do: each contender always has the same value of
/// it. The schedule does besides if there is but one contender.
bool is_own_key(const std::vector<StudyCell>& cells, std::string_view key, const std::vector<std::string>& own_keys) {
  std::map<std::string, std::set<std::string>> values;  // by contender
  std::set<std::string> all;
  for (const StudyCell& each : cells) {
    const Detail* found = find_key(each.cell.keys, key);
    const std::string value = found == nullptr ? std::string() : to_json(*found, -1);
    values[to_json(who_keys(each.cell.keys, own_keys), -1)].insert(value);
    all.insert(value);
  }
  const bool is_one_each = std::ranges::all_of(values, [](const auto& of_one) { return of_one.second.size() == 1; });
  return all.size() > 1 && (is_one_each || (key == "schedule" && values.size() == 1));
}

Contender make_contender(const Keys& who) {
  Contender contender;
  contender.planner = word_of(who, "planner");
  contender.label = word_of(who, "label");
  contender.name = contender.label.empty() ? contender.planner : contender.label;
  std::ranges::copy_if(who, std::back_inserter(contender.choices),
                       [](const auto& entry) { return entry.first != "planner" && entry.first != "label"; });
  return contender;
}

/// The properties in which contenders with the same name can differ: the planner and its choices.
Keys marks_of(const Contender& contender) {
  Keys marks{{"planner", contender.planner}};
  const std::string prefix = option_prefix(contender.planner);
  for (const auto& [key, value] : contender.choices) {
    marks.emplace_back(key.starts_with(prefix) ? key.substr(prefix.size()) : key, value);
  }
  return marks;
}

std::string mark_text(const std::string& key, const Detail& value) {
  const auto* word = std::get_if<std::string>(&value.value);
  return key + " " + (word == nullptr ? to_json(value, -1) : *word);
}

/// Appends to the names of the contenders `alike`, which have the same name, the properties in which they differ.
void tell_apart(std::vector<Contender>& contenders, const std::vector<std::size_t>& alike) {
  std::vector<Keys> marks;
  for (std::size_t i : alike) marks.push_back(marks_of(contenders[i]));
  for (std::size_t i = 0; i < alike.size(); ++i) {
    std::string text;
    for (const auto& [key, value] : marks[i]) {
      const bool is_common = std::ranges::all_of(marks, [&](const Keys& other) {
        const Detail* found = find_key(other, key);
        return found != nullptr && *found == value;
      });
      if (!is_common) text += (text.empty() ? "" : ", ") + mark_text(key, value);
    }
    if (!text.empty()) contenders[alike[i]].name += " (" + text + ")";
  }
}

void name_contenders(std::vector<Contender>& contenders) {
  std::map<std::string, std::vector<std::size_t>> by_name;
  for (std::size_t i = 0; i < contenders.size(); ++i) by_name[contenders[i].name].push_back(i);
  for (const auto& [name, alike] : by_name) {
    if (alike.size() > 1) tell_apart(contenders, alike);
  }
}

void find_contenders(const std::vector<StudyCell>& cells, SortedCells& sorted) {
  std::map<std::string, std::size_t> known;
  for (const StudyCell& each : cells) {
    const Keys who = who_keys(each.cell.keys, sorted.own_keys);
    const auto [found, is_new] = known.emplace(to_json(who, -1), sorted.contenders.size());
    if (is_new) sorted.contenders.push_back(make_contender(who));
    sorted.contender_of.push_back(found->second);
  }
  name_contenders(sorted.contenders);
}

/// The keys that do not belong to contenders, in order of first appearance, each with whether it is the same in all
/// cells.
std::vector<std::pair<std::string, bool>> other_keys(const std::vector<StudyCell>& cells,
                                                     const std::vector<std::string>& own_keys) {
  struct Seen {
    std::size_t count = 0;
    const Detail* first = nullptr;
    bool is_same = true;
  };
  std::map<std::string, Seen> seen;
  std::vector<std::string> order;
  for (const StudyCell& each : cells) {
    for (const auto& [key, value] : each.cell.keys) {
      if (is_who(key, own_keys)) continue;
      Seen& entry = seen[key];
      if (entry.count++ == 0) {
        order.push_back(key);
        entry.first = &value;
      }
      entry.is_same = entry.is_same && *entry.first == value;
    }
  }
  std::vector<std::pair<std::string, bool>> result;
  for (const std::string& key : order) {
    result.emplace_back(key, seen[key].is_same && seen[key].count == cells.size());
  }
  return result;
}

void find_groups(const std::vector<StudyCell>& cells, SortedCells& sorted) {
  std::vector<std::string> differing;
  for (const auto& [key, is_constant] : other_keys(cells, sorted.own_keys)) {
    if (is_constant) {
      sorted.constant.emplace_back(key, *find_key(cells.front().cell.keys, key));
    } else {
      differing.push_back(key);
    }
  }
  std::map<std::string, std::size_t> known;
  for (const StudyCell& each : cells) {
    Keys group;
    for (const std::string& key : differing) {
      const Detail* value = find_key(each.cell.keys, key);
      group.emplace_back(key, value == nullptr ? Detail() : *value);
    }
    const auto [found, is_new] = known.emplace(to_json(group, -1), sorted.groups.size());
    if (is_new) sorted.groups.push_back(std::move(group));
    sorted.group_of.push_back(found->second);
  }
}

}  // namespace

SortedCells sort_cells(const std::vector<StudyCell>& cells) {
  SortedCells sorted;
  for (const std::string_view key : kOwnKeys) {
    if (is_own_key(cells, key, sorted.own_keys)) sorted.own_keys.emplace_back(key);
  }
  find_contenders(cells, sorted);
  find_groups(cells, sorted);
  return sorted;
}

bool says_who(const SortedCells& sorted, std::string_view key) { return is_who(key, sorted.own_keys); }

}  // namespace stagecraft
