#include "tests/docs/study_figures.hpp"

#include "experiments/study/results.hpp"
#include "experiments/study_report/study_report.hpp"
#include "experiments/study_report/summary.hpp"
#include "experiments/view/figures.hpp"
#include "experiments/view/table.hpp"
#include "sim/base/error.hpp"
#include "sim/base/short_number.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"
#include "tests/docs/mark_keys.hpp"
#include "tests/paths.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

namespace stagecraft::test {
namespace {

struct Choice {
  std::string study;
  Keys keys;
  std::string show;
  std::optional<double> over;
  Keys other_keys;  // of the line that the figure is divided by; may be none
  std::optional<std::int64_t> digits;
  std::string unit;
};

Choice choice_of(const std::string& argument) {
  Choice choice;
  for (const auto& [key, value] : keys_of(argument)) {
    if (key == "study") {
      choice.study = value;
    } else if (key == "show") {
      choice.show = value;
    } else if (key == "over") {
      choice.over = required(key, parse_number(value));
    } else if (key.starts_with("over:")) {
      choice.other_keys.emplace_back(key.substr(5), value);
    } else if (key == "digits") {
      choice.digits = required(key, parse_count(value));
    } else if (key == "unit") {
      choice.unit = value;
    } else {
      choice.keys.emplace_back(key, value);
    }
  }
  if (choice.study.empty() || choice.show.empty()) throw InputError("a figure needs study=… and show=…");
  return choice;
}

const Detail* find(const Detail::Record& record, std::string_view key) {
  const auto found = std::ranges::find(record, key, &Detail::Record::value_type::first);
  return found == record.end() ? nullptr : &found->second;
}

std::string plain(const Detail& value) {
  const auto* word = std::get_if<std::string>(&value.value);
  return word == nullptr ? to_json(value, -1) : *word;
}

StudyLines report_lines(const Detail::Record& report) {
  StudyLines lines;
  const auto& constant = std::get<Detail::Record>(find(report, "constant")->value);
  for (const Detail& group : std::get<Detail::List>(find(report, "groups")->value)) {
    const auto& parts = std::get<Detail::Record>(group.value);
    for (const Detail& line : std::get<Detail::List>(find(parts, "lines")->value)) {
      Detail::Record record = constant;
      for (const auto& entry : std::get<Detail::Record>(find(parts, "keys")->value)) record.push_back(entry);
      for (const auto& entry : std::get<Detail::Record>(line.value)) record.push_back(entry);
      lines.push_back(std::move(record));
    }
  }
  return lines;
}

const StudyLines& read_lines(const std::string& study, StudyResults& results) {
  const auto known = results.read.find(study);
  if (known != results.read.end()) return known->second;
  const std::string folder = (results.folder / study).string();
  return results.read[study] = report_lines(study_record(summarise_study(load_results({folder}))));
}

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// The names that the lines have, of values that are not null.
std::set<std::string> names_in(const StudyLines& lines) {
  std::set<std::string> names;
  for (const Detail::Record& line : lines) {
    for (const auto& [name, value] : line) {
      if (value != Detail()) names.insert(name);
    }
  }
  return names;
}

std::set<std::string> values_in(const StudyLines& lines, const std::string& key) {
  std::set<std::string> values;
  for (const Detail::Record& line : lines) {
    if (const Detail* value = find(line, key)) values.insert(plain(*value));
  }
  return values;
}

/// The keys in which the lines differ, with their values. The keys of a line come before its figures.
std::string differences(const StudyLines& lines) {
  std::string text;
  for (const auto& [key, value] : lines.front()) {
    const std::set<std::string> values = values_in(lines, key);
    if (values.size() > 1) text += (text.empty() ? "" : "; ") + key + "=" + joined(values);
    if (key == "name") break;
  }
  return text;
}

Detail::Record chosen(StudyLines lines, const Keys& keys) {
  for (const auto& [key, value] : keys) {
    const std::set<std::string> values = values_in(lines, key);
    if (values.empty()) throw InputError("no key " + quote(key), {}, "there are " + joined(names_in(lines)));
    if (!values.contains(value)) {
      throw InputError("no line has " + key + "=" + value, {}, "there are " + joined(values));
    }
    std::erase_if(lines, [&](const Detail::Record& line) {
      const Detail* found = find(line, key);
      return found == nullptr || plain(*found) != value;
    });
  }
  if (lines.size() != 1) {
    throw InputError("the keys choose " + std::to_string(lines.size()) + " lines", {},
                     "they differ in " + differences(lines));
  }
  return lines.front();
}

Detail figure_of(const StudyLines& lines, const Keys& keys, const std::string& name) {
  const Detail::Record line = chosen(lines, keys);
  const Detail* figure = find(line, name);
  if (figure == nullptr || *figure == Detail()) {
    throw InputError("no figure " + quote(name), {}, "there are " + joined(names_in({line})));
  }
  return *figure;
}

bool is_number(const Detail& figure) {
  return std::holds_alternative<std::int64_t>(figure.value) || std::holds_alternative<double>(figure.value);
}

double number_of(const Detail& figure) {
  if (const auto* whole = std::get_if<std::int64_t>(&figure.value)) return static_cast<double>(*whole);
  return std::get<double>(figure.value);
}

/// The keys of the line that the figure is divided by.
Keys replaced(const Choice& choice) {
  Keys keys = choice.other_keys;
  for (const auto& each : choice.keys) {
    const auto same = [&](const auto& other) { return other.first == each.first; };
    if (std::ranges::none_of(choice.other_keys, same)) keys.push_back(each);
  }
  return keys;
}

std::string fixed(double value, std::int64_t digits) {
  std::array<char, 400> buffer{};
  const auto end = std::to_chars(buffer.begin(), buffer.end(), value, std::chars_format::fixed,
                                 static_cast<int>(std::min<std::int64_t>(digits, 20)));
  return {buffer.data(), end.ptr};
}

double scale_of(const std::string& unit) {
  static const std::map<std::string, double> scales = {{"", 1.0},       {"s", 1.0},      {"ms", 1e-3}, {"us", 1e-6},
                                                       {"GiB", 0x1p30}, {"MiB", 0x1p20}, {"%", 0.01}};
  const auto scale = scales.find(unit);
  if (scale == scales.end()) throw InputError("unknown unit " + quote(unit), {}, "write s, ms, us, GiB, MiB or %");
  return scale->second;
}

/// The number in the form that reports give a figure of its kind.
std::string usual_form(const FigureInfo* figure, double number) {
  if (figure != nullptr && figure->kind == FigureKind::Time) return format_human_seconds(Seconds(number));
  if (figure != nullptr && figure->kind == FigureKind::Ratio) return percent(number);
  if (figure != nullptr && figure->kind == FigureKind::Size) {
    return format_human_bytes(Bytes(static_cast<std::int64_t>(number)));
  }
  return short_number(number);
}

}  // namespace

bool has_results(const std::string& argument, const StudyResults& results) {
  const std::string study = choice_of(argument).study;
  if (results.read.contains(study) || std::filesystem::exists(results.folder / study)) return true;
  const std::filesystem::path file =
      std::filesystem::path(STAGECRAFT_SOURCE_DIR) / "experiments/studies" / (study + ".yaml");
  if (!std::filesystem::exists(file)) throw InputError("no study " + quote(study), {}, "there is no " + file.string());
  return false;
}

std::string figure_text(const std::string& argument, StudyResults& results) {
  const Choice choice = choice_of(argument);
  const StudyLines& lines = read_lines(choice.study, results);
  const Detail figure = figure_of(lines, choice.keys, choice.show);
  if (!is_number(figure)) return plain(figure);
  double number = number_of(figure);
  if (choice.over) number /= *choice.over;
  if (!choice.other_keys.empty()) number /= number_of(figure_of(lines, replaced(choice), choice.show));
  if (choice.digits) {
    return fixed(number / scale_of(choice.unit), *choice.digits) + (choice.unit.empty() ? "" : " " + choice.unit);
  }
  const bool is_ratio = choice.over || !choice.other_keys.empty();
  return is_ratio ? short_number(number) : usual_form(find_figure(choice.show), number);
}

}  // namespace stagecraft::test
