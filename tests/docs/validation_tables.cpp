#include "tests/docs/validation_tables.hpp"

#include "experiments/measured/validation.hpp"
#include "experiments/view/table.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/csv_file.hpp"
#include "sim/io/text_file.hpp"
#include "tests/docs/mark_keys.hpp"
#include "tests/paths.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kErrorsHead =
    "\n| Platform | Precision | Compared | Steps | Signed median | Median | Mean | Worst | Rank |\n"
    "|---|---|---|--:|--:|--:|--:|--:|--:|\n";

fs::path kept(const std::string& name) { return fs::path(STAGECRAFT_SOURCE_DIR) / "docs/validation" / (name + ".csv"); }

double number(const std::string& text) { return required("docs/validation", parse_number(text)); }

std::optional<Bytes> bytes_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return Bytes(required("docs/validation", parse_count(text)));
}

std::vector<std::string> all_tables() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(STAGECRAFT_SOURCE_DIR) / "docs/validation")) {
    if (entry.path().extension() == ".csv") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

/// Whether constants were fitted to steps of the table: the others say that none were.
bool is_fitted(const std::string& table) {
  constexpr std::array<std::string_view, 3> kUnfitted{"nanotron", "sc21-zero3", "torchtitan"};
  return std::ranges::find(kUnfitted, table) == kUnfitted.end();
}

std::string rank_text(const StepErrors& errors) { return errors.rank ? fmt::format("{:.3f}", *errors.rank) : "–"; }

std::string error_row(const std::string& platform, const std::string& precision, const std::string& what,
                      std::size_t steps, const StepErrors& errors) {
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", platform, precision, what, steps,
                     signed_percent(errors.signed_median), percent(errors.median), percent(errors.mean),
                     percent(errors.worst), rank_text(errors));
}

std::size_t steps_with_memory(const Validation& validation) {
  return static_cast<std::size_t>(
      std::ranges::count_if(validation.steps, [](const PredictedStep& step) { return step.peak_memory.has_value(); }));
}

std::string rows_of(const ShownSite& site) {
  const Validation& validation = site.validation;
  const std::size_t steps = validation.steps.size();
  std::string text = error_row(site.platform, site.precision, "time", steps, time_errors(validation));
  text += error_row("", "", "plain formula", steps, plain_errors(validation));
  if (const auto memory = memory_errors(validation)) {
    text += error_row("", "", "peak memory", steps_with_memory(validation), *memory);
    if (const auto fit = memory_fit(validation)) {
      const std::string with = fmt::format("{:.2f} × it {} {:.1f} GiB", fit->factor, fit->offset < Bytes(0) ? "−" : "+",
                                           std::abs(static_cast<double>(fit->offset.value())) / (1 << 30));
      text += error_row("", "", with, steps_with_memory(validation), fit->errors);
    }
  }
  if (const MeasuredNoise noise = measured_noise(validation); noise.runs > 0) {
    text += fmt::format("| | | measured again | {} | | {} | | {} | |\n", noise.runs, percent(noise.median),
                        percent(noise.worst));
  }
  return text;
}

/// The mean error of peak memory, and that with a line fitted.
std::string memory_text(const Validation& validation) {
  const auto errors = memory_errors(validation);
  if (!errors) return "–";
  const auto fit = memory_fit(validation);
  return percent(errors->mean) + (fit ? " (" + percent(fit->errors.mean) + ")" : "");
}

/// A row for each site of all tables, without what its own table has beside it.
std::string summary_table() {
  std::string text =
      "\n| Table | Fitted | Platform | Precision | Steps | Median | Mean | Rank | Plain formula: mean | rank | Peak "
      "memory: "
      "mean |\n"
      "|---|---|---|---|--:|--:|--:|--:|--:|--:|--:|\n";
  for (const std::string& table : all_tables()) {
    for (const ShownSite& site : shown_sites(table)) {
      const StepErrors time = time_errors(site.validation);
      const StepErrors plain = plain_errors(site.validation);
      text += fmt::format("| [{0}](#{0}) | {1} | {2} | {3} | {4} | {5} | {6} | {7} | {8} | {9} | {10} |\n", table,
                          is_fitted(table) ? "yes" : "no", site.platform, site.precision, site.validation.steps.size(),
                          percent(time.median), percent(time.mean), rank_text(time), percent(plain.mean),
                          rank_text(plain), memory_text(site.validation));
    }
  }
  return text;
}

std::string error_figure(const StepErrors& errors, const std::string& show) {
  if (show == "signed_median") return signed_percent(errors.signed_median);
  if (show == "median") return percent(errors.median);
  if (show == "mean") return percent(errors.mean);
  if (show == "worst") return percent(errors.worst);
  if (show == "rank") return rank_text(errors);
  throw InputError("a validation has no figure " + quote(show));
}

std::string figure_of(const Validation& validation, const std::string& show) {
  if (show == "steps") return std::to_string(validation.steps.size());
  if (show.starts_with("plain_")) return error_figure(plain_errors(validation), show.substr(6));
  if (show.starts_with("fitted_memory_")) return error_figure(memory_fit(validation).value().errors, show.substr(14));
  if (!show.starts_with("memory_")) return error_figure(time_errors(validation), show);
  if (const auto memory = memory_errors(validation)) return error_figure(*memory, show.substr(7));
  throw InputError("the validation has no measured memory");
}

/// `fitted`, or else `unfitted`.
std::vector<std::string> tables_of(const std::string& which) {
  std::vector<std::string> tables = all_tables();
  std::erase_if(tables, [&](const std::string& name) { return is_fitted(name) != (which == "fitted"); });
  return tables;
}

std::string figure_of_tables(const std::string& which, const std::string& show) {
  std::size_t steps = 0;
  std::vector<double> medians;
  for (const std::string& name : tables_of(which)) {
    for (const ShownSite& site : shown_sites(name)) {
      steps += site.validation.steps.size();
      medians.push_back(time_errors(site.validation).median);
    }
  }
  if (show == "steps") return std::to_string(steps);
  if (show == "tables") return std::to_string(tables_of(which).size());
  if (show == "least_median") return percent(std::ranges::min(medians));
  if (show == "largest_median") return percent(std::ranges::max(medians));
  throw InputError("several validations have no figure " + quote(show));
}

}  // namespace

std::vector<ShownSite> shown_sites(const std::string& name) {
  const CsvTable csv(read_text_file(kept(name).string()), kept(name).string());
  std::vector<ShownSite> sites;
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    const auto field = [&](const char* column) { return csv.at(row, csv.column(column)); };
    const std::string platform = field("platform");
    const std::string precision = field("precision");
    auto site = std::ranges::find_if(
        sites, [&](const ShownSite& each) { return each.platform == platform && each.precision == precision; });
    if (site == sites.end()) site = sites.insert(sites.end(), {platform, precision, {}});
    PredictedStep& step = site->validation.steps.emplace_back();
    step.run = static_cast<std::size_t>(number(field("run")));
    step.step.time = Seconds(number(field("measured_s")));
    step.time = Seconds(number(field("predicted_s")));
    step.plain = Seconds(number(field("plain_s")));
    step.step.peak_memory = bytes_of(field("measured_memory_bytes"));
    step.peak_memory = bytes_of(field("predicted_memory_bytes"));
  }
  return sites;
}

std::string validation_table(const std::string& name) {
  if (name == "all") return summary_table();
  std::string text = kErrorsHead;
  for (const ShownSite& site : shown_sites(name)) text += rows_of(site);
  return text;
}

std::string left_out_table(const std::string& name) {
  const fs::path file = fs::path(STAGECRAFT_SOURCE_DIR) / "validation" / (name + ".csv");
  std::string text = "\n| Left out | Reason |\n|---|---|\n";
  for (const LeftOutStep& step : parse_measured_steps(read_text_file(file.string()), file.string()).left_out) {
    text += "| `" + step.name + "` | " + step.reason + " |\n";
  }
  return text;
}

std::string validation_figure(const std::string& argument) {
  std::string name;
  std::string show;
  std::string platform;
  std::string precision;
  const std::array<std::pair<const char*, std::string*>, 4> known{
      {{"validation", &name}, {"show", &show}, {"platform", &platform}, {"precision", &precision}}};
  for (const auto& [key, value] : keys_of(argument)) {
    const auto* const found = std::ranges::find(known, key, &std::pair<const char*, std::string*>::first);
    if (found == known.end()) throw InputError("a figure of a validation has no key " + quote(key));
    *found->second = value;
  }
  if (name == "fitted" || name == "unfitted") return figure_of_tables(name, show);
  std::vector<ShownSite> sites = shown_sites(name);
  std::erase_if(sites, [&](const ShownSite& site) {
    return (!platform.empty() && site.platform != platform) || (!precision.empty() && site.precision != precision);
  });
  if (sites.size() == 1) return figure_of(sites.front().validation, show);
  throw InputError(fmt::format("{} sites of the validation {} fit", sites.size(), quote(name)));
}

}  // namespace stagecraft::test
