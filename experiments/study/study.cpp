#include "experiments/study/study.hpp"

#include "experiments/study/limits.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"

#include <algorithm>
#include <map>

namespace stagecraft {
namespace {

constexpr std::uint64_t kShortText = 64;  ///< bytes

void set_all(Keys& keys, const Keys& values) {
  for (const auto& [name, value] : values) set_key(keys, name, value);
}

void check_count(const Study& study) {
  std::uint64_t count = study.seeds.size();
  for (const Axis& axis : study.axes) {
    count *= axis.size();
    if (count <= study_limits::kMostCells) continue;
    throw InputError("the study has more than 100000 cells", {study.file, 0, 0, "matrix"}, "split it into several");
  }
}

std::uint64_t weight(const Keys& keys);

/// The memory of a value in a cell, in units of one number or short word (about 100 bytes).
std::uint64_t weight(const Detail& value) {
  std::uint64_t sum = 1;
  if (const auto* text = std::get_if<std::string>(&value.value)) sum += text->size() / kShortText;
  if (const auto* list = std::get_if<Detail::List>(&value.value)) {
    for (const Detail& item : *list) sum += weight(item);
  }
  if (const auto* record = std::get_if<Detail::Record>(&value.value)) sum += weight(*record);
  return sum;
}

std::uint64_t weight(const Keys& keys) {
  std::uint64_t sum = 0;
  for (const auto& [name, value] : keys) sum += name.size() / kShortText + weight(value);
  return sum;
}

/// Refuses studies whose cells would not fit in memory, before any cell is made. This is an upper bound: a key that is
/// set twice counts twice, and excluded cells count.
void check_weight(const Study& study) {
  std::uint64_t count = 1;
  for (const Axis& axis : study.axes) count *= axis.size();
  const std::uint64_t common = weight(study.base) + weight(study.fixed);
  std::uint64_t sum = (count + study.include.size()) * common;
  for (const Axis& axis : study.axes) {
    for (const Keys& values : axis) sum += count / axis.size() * weight(values);
  }
  for (const Keys& values : study.include) sum += weight(values);
  if (sum <= study_limits::kMostValues / std::max<std::size_t>(study.seeds.size(), 1)) return;
  throw InputError("the cells of the study have more than two million values together", {study.file, 0, 0, ""},
                   "split it into several, or move values that many cells share into their files");
}

std::string no_match(const std::string& place, const Keys& pattern) {
  return place + " matches no cell: " + to_json(pattern, -1);
}

/// Removes the combinations that a pattern excludes, and warns of patterns that exclude nothing.
void exclude(const Study& study, std::vector<Keys>& all, std::vector<std::string>& warnings) {
  std::vector<bool> is_used(study.exclude.size());
  std::erase_if(all, [&](const Keys& keys) {
    bool is_excluded = false;
    for (std::size_t i = 0; i < study.exclude.size(); ++i) {
      if (!matches(keys, study.exclude[i])) continue;
      is_used[i] = true;
      is_excluded = true;
    }
    return is_excluded;
  });
  for (std::size_t i = 0; i < study.exclude.size(); ++i) {
    if (!is_used[i]) warnings.push_back(no_match("exclude[" + std::to_string(i) + "]", study.exclude[i]));
  }
}

std::vector<Keys> combinations(const Study& study, std::vector<std::string>& warnings) {
  std::vector<Keys> result{study.base};
  for (const Axis& axis : study.axes) {
    std::vector<Keys> longer;
    longer.reserve(result.size() * axis.size());
    for (const Keys& keys : result) {
      for (const Keys& values : axis) set_all(longer.emplace_back(keys), values);
    }
    result = std::move(longer);
  }
  exclude(study, result, warnings);
  for (const Keys& values : study.include) set_all(result.emplace_back(study.base), values);
  for (Keys& keys : result) set_all(keys, study.fixed);
  return result;
}

/// Removes the options of other planners than the cell's own, so that cells that differ only in them are equal.
void drop_foreign_options(Keys& keys) {
  const std::string own = option_prefix(word_of(keys, "planner"));
  std::erase_if(keys, [&](const auto& entry) { return is_option_key(entry.first) && !entry.first.starts_with(own); });
}

void check_keys(const Study& study, const Keys& keys) {
  for (const char* needed : {"model", "platform", "planner"}) {
    if (!word_of(keys, needed).empty()) continue;
    throw InputError(std::string("a cell has no ") + needed + ": " + to_json(keys, -1), {study.file, 0, 0, ""},
                     "'base' may give it to all cells");
  }
  const auto has = [&](const char* key) { return find_key(keys, key) != nullptr; };
  if (has("microbatches") && has("global_batch")) {
    throw InputError("a cell has either microbatches or global_batch, not both: " + to_json(keys, -1),
                     {study.file, 0, 0, ""});
  }
  const Detail* capacity = find_key(keys, "capacity");
  if (has("imbalance") && capacity != nullptr && *capacity != Detail("none")) {
    throw InputError("a cell has either imbalance or capacity, not both, unless capacity is none: " + to_json(keys, -1),
                     {study.file, 0, 0, ""});
  }
  if (has("samples_per_update") && (has("microbatches") || has("global_batch"))) {
    throw InputError(
        "a cell has either samples_per_update or the microbatches of an iteration, not both: " + to_json(keys, -1),
        {study.file, 0, 0, ""}, "run_length gives the length of an asynchronous run");
  }
}

/// All combinations without repetitions; the first of equal ones is kept, and `repeated` counts the others.
std::vector<Keys> distinct(const Study& study, std::vector<Keys> all, std::size_t& repeated) {
  std::map<std::string, std::string> labels;
  std::vector<Keys> result;
  for (Keys& keys : all) {
    drop_foreign_options(keys);
    check_keys(study, keys);
    const std::string label = word_of(keys, "label");
    const auto [known, is_new] = labels.emplace(to_json(canonical(keys), -1), label);
    if (!is_new && known->second != label) {
      throw InputError("equal cells have the labels " + quote(known->second) + " and " + quote(label),
                       {study.file, 0, 0, ""},
                       "a label stands for a choice of options; give equal cells one label, or different options");
    }
    if (is_new) {
      result.push_back(std::move(keys));
    } else {
      ++repeated;
    }
  }
  return result;
}

/// Warns of a table that uses keys or patterns that no cell has.
void check_table(const TableChoice& table, const std::string& place, const std::vector<Keys>& all,
                 std::vector<std::string>& warnings) {
  const auto check_names = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const auto has_key = [&](const Keys& keys) { return find_key(keys, name) != nullptr; };
      if (std::ranges::none_of(all, has_key)) warnings.push_back(place + ": no cell has the key " + quote(name));
    }
  };
  const auto fits = [&](const Keys& pattern) {
    return std::ranges::any_of(all, [&](const Keys& keys) { return matches(keys, pattern); });
  };
  check_names(table.rows);
  check_names(table.columns);
  if (!fits(table.where)) warnings.push_back(no_match(place + ".where", table.where));
  if (table.over && !fits(*table.over)) warnings.push_back(no_match(place + ".over", *table.over));
}

}  // namespace

const Detail* find_key(const Keys& keys, std::string_view name) {
  const auto found = std::ranges::find(keys, name, &Keys::value_type::first);
  return found == keys.end() ? nullptr : &found->second;
}

std::string word_of(const Keys& keys, std::string_view name) {
  const Detail* value = find_key(keys, name);
  const auto* word = value == nullptr ? nullptr : std::get_if<std::string>(&value->value);
  return word == nullptr ? std::string() : *word;
}

void set_key(Keys& keys, const std::string& name, const Detail& value) {
  const auto found = std::ranges::find(keys, name, &Keys::value_type::first);
  if (found == keys.end()) {
    keys.emplace_back(name, value);
  } else {
    found->second = value;
  }
}

bool matches(const Keys& keys, const Keys& pattern) {
  return std::ranges::all_of(pattern, [&](const auto& wanted) {
    const Detail* value = find_key(keys, wanted.first);
    return value != nullptr && *value == wanted.second;
  });
}

Keys canonical(const Keys& keys) {
  Keys sorted = keys;
  std::erase_if(sorted, [](const auto& entry) { return entry.first == "label"; });
  std::ranges::sort(sorted, {}, &Keys::value_type::first);
  return sorted;
}

std::string option_prefix(const std::string& planner) { return planner + "."; }

bool is_option_key(std::string_view key) {
  const std::size_t dot = key.find('.');
  return dot != std::string_view::npos && std::ranges::find(kKeyGroups, key.substr(0, dot)) == kKeyGroups.end();
}

Expansion expand(const Study& study) {
  check_count(study);
  check_weight(study);
  Expansion expansion;
  const std::vector<Keys> all = distinct(study, combinations(study, expansion.warnings), expansion.repeated);
  if (all.empty()) throw InputError("the study has no cells", {study.file, 0, 0, ""}, "'exclude' leaves none");
  if (all.size() * study.seeds.size() > study_limits::kMostCells) {
    throw InputError("the study has more than 100000 cells", {study.file, 0, 0, ""}, "split it into several");
  }
  const auto is_baseline = [&](const Keys& keys) { return matches(keys, *study.baseline); };
  if (study.baseline && std::ranges::none_of(all, is_baseline)) {
    expansion.warnings.push_back(no_match("baseline", *study.baseline));
  }
  for (std::size_t i = 0; i < study.tables.size(); ++i) {
    check_table(study.tables[i], "tables[" + std::to_string(i) + "]", all, expansion.warnings);
  }
  expansion.cells.reserve(all.size() * study.seeds.size());
  for (const Keys& keys : all) {
    for (std::uint64_t seed : study.seeds) expansion.cells.push_back({keys, seed});
  }
  return expansion;
}

}  // namespace stagecraft
