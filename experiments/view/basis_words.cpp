#include "experiments/view/basis_words.hpp"

#include "experiments/view/table.hpp"
#include "sim/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace stagecraft {
namespace {

struct InputWords {
  BasisInput input;
  const char* key;
  const char* words;
};

constexpr std::array<InputWords, 4> kInputs = {{{BasisInput::Times, "times", "layer times"},
                                                {BasisInput::Links, "links", "links"},
                                                {BasisInput::Collectives, "collectives", "all-reduces"},
                                                {BasisInput::Updates, "updates", "updates"}}};
constexpr std::array kOrigins = {Origin::Measured,     Origin::Published,    Origin::Computed,
                                 Origin::Interpolated, Origin::Extrapolated, Origin::Assumed};

/// A record of the inputs, each with a record of its origins and the `value` of the two.
template <typename Map, typename Value>
Detail::Record nested_record(const Map& map, Value value) {
  Detail::Record record;
  for (const InputWords& input : kInputs) {
    Detail::Record origins;
    for (const auto& [key, entry] : map) {
      if (key.first == input.input) origins.emplace_back(to_string(key.second), value(entry));
    }
    if (!origins.empty()) record.emplace_back(input.key, std::move(origins));
  }
  return record;
}

/// `75 to 100 %`.
std::string range_text(double low, double high) {
  const std::string last = fmt::format("{:.0f}", 100.0 * high);
  const std::string first = fmt::format("{:.0f}", 100.0 * low);
  return (first == last ? "" : first + " to ") + last + " %";
}

}  // namespace

Detail::Record basis_record(const Basis& basis) {
  return nested_record(basis, [](double share) { return Detail(share); });
}

Basis basis_of_record(const Detail::Record& record) {
  Basis basis;
  for (const auto& [name, origins] : record) {
    const auto input = std::ranges::find(kInputs, name, &InputWords::key);
    const auto* shares = std::get_if<Detail::Record>(&origins.value);
    if (input == kInputs.end() || shares == nullptr) continue;
    for (const Origin origin : kOrigins) {
      const auto share = std::ranges::find(*shares, to_string(origin), &Detail::Record::value_type::first);
      if (share == shares->end()) continue;
      const auto* number = std::get_if<double>(&share->second.value);
      if (number != nullptr) basis[{input->input, origin}] = *number;
    }
  }
  return basis;
}

Basis mean_basis(const std::vector<Basis>& runs) {
  Basis mean;
  for (const Basis& run : runs) {
    for (const auto& [key, share] : run) mean[key] += share / static_cast<double>(runs.size());
  }
  return mean;
}

std::string origins_text(const Basis& basis) {
  std::string text;
  for (const Origin origin : kOrigins) {
    double share = 0.0;
    for (const auto& [key, part] : basis) share += key.second == origin ? part : 0.0;
    if (share > 0.0) text += (text.empty() ? "" : ", ") + std::string(to_string(origin)) + " " + percent(share);
  }
  return text;
}

BasisRanges ranges_of(const std::vector<Basis>& runs) {
  BasisRanges ranges;
  for (const Basis& run : runs) {
    for (const auto& [key, share] : run) ranges.try_emplace(key, std::numeric_limits<double>::max(), 0.0);
  }
  for (auto& [key, range] : ranges) {
    for (const Basis& run : runs) {
      const auto found = run.find(key);
      const double share = found == run.end() ? 0.0 : found->second;
      range = {std::min(range.first, share), std::max(range.second, share)};
    }
  }
  return ranges;
}

Detail::Record ranges_record(const BasisRanges& ranges) {
  return nested_record(ranges, [](const auto& range) { return Detail::List{range.first, range.second}; });
}

std::string basis_text(const BasisRanges& ranges) {
  if (ranges.empty()) return "";
  std::string text;
  for (const auto& [key, range] : ranges) {
    const auto input = std::ranges::find(kInputs, key.first, &InputWords::input);
    text += fmt::format("{} {} {} ({})", text.empty() ? "Inputs behind these times:" : ",", input->words,
                        to_string(key.second), range_text(range.first, range.second));
  }
  return text;
}

}  // namespace stagecraft
