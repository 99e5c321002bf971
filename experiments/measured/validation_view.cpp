#include "experiments/measured/validation_view.hpp"

#include "experiments/view/table.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>

namespace stagecraft {
namespace {

std::string name_of(const MeasuredSite& site) { return std::filesystem::path(site.table).stem().string(); }

std::string precision_of(const Validation& validation) { return to_string(validation.device.precision); }

std::string rank_text(const StepErrors& errors) { return errors.rank ? fmt::format("{:.3f}", *errors.rank) : "-"; }

/// What a site's lines say: what is compared, of how many steps, and the errors.
struct ErrorLine {
  std::string what;
  std::size_t steps = 0;
  StepErrors errors;
};

std::vector<ErrorLine> lines_of(const Validation& validation) {
  const std::size_t steps = validation.steps.size();
  std::vector<ErrorLine> lines{
      {"time", steps, time_errors(validation)},
      {"plain formula, " + percent(validation.plain_share) + " of the peak", steps, plain_errors(validation)}};
  if (const auto memory = memory_errors(validation)) {
    const auto measured =
        std::ranges::count_if(validation.steps, [](const PredictedStep& step) { return step.peak_memory.has_value(); });
    lines.push_back({"peak memory", static_cast<std::size_t>(measured), *memory});
    if (const auto fit = memory_fit(validation)) {
      lines.push_back({fmt::format("{:.2f} x it {} {}", fit->factor, fit->offset < Bytes(0) ? '-' : '+',
                                   format_human_bytes(fit->offset < Bytes(0) ? Bytes(0) - fit->offset : fit->offset)),
                       static_cast<std::size_t>(measured), fit->errors});
    }
  }
  return lines;
}

std::string errors_text(const std::vector<Validation>& validations) {
  Table table{
      {"table", "platform", "precision", "compared", "steps", "signed", "median", "mean", "worst", "rank"}, {}, 4};
  for (const Validation& validation : validations) {
    std::vector<std::string> site{name_of(validation.site), validation.platform, precision_of(validation)};
    for (const ErrorLine& line : lines_of(validation)) {
      table.rows.push_back({site[0], site[1], site[2], line.what, std::to_string(line.steps),
                            signed_percent(line.errors.signed_median), percent(line.errors.median),
                            percent(line.errors.mean), percent(line.errors.worst), rank_text(line.errors)});
      site.assign(3, "");
    }
    if (const MeasuredNoise noise = measured_noise(validation); noise.runs > 0) {
      table.rows.push_back({"", "", "", "measured again", std::to_string(noise.runs), "", percent(noise.median), "",
                            percent(noise.worst), ""});
    }
  }
  return to_text(table);
}

std::string steps_text(const Validation& validation) {
  const bool has_memory = memory_errors(validation).has_value();
  Table table{{"step", "measured", "predicted", "error", "plain"}, {}};
  if (has_memory) table.header.insert(table.header.end(), {"memory", "predicted", "error"});
  for (const PredictedStep& each : validation.steps) {
    const Seconds measured = each.step.time;
    auto& row = table.rows.emplace_back();
    row = {each.step.name, format_human_seconds(measured), format_human_seconds(each.time),
           signed_percent(each.time / measured - 1.0), signed_percent(each.plain / measured - 1.0)};
    if (!has_memory) continue;
    if (each.peak_memory) {
      row.insert(row.end(), {format_human_bytes(*each.step.peak_memory), format_human_bytes(*each.peak_memory),
                             signed_percent(memory_ratio(each) - 1.0)});
    } else {
      row.insert(row.end(), 3, "-");
    }
  }
  return to_text(table);
}

/// Steps that ran are predicted not to.
std::string too_large_text(const std::vector<Validation>& validations) {
  std::string text;
  for (const Validation& validation : validations) {
    if (validation.too_large == 0) continue;
    text += fmt::format("\n{} of {} on {} predicted not to fit in memory\n", counted(validation.too_large, "step"),
                        name_of(validation.site), validation.platform + (validation.too_large == 1 ? " is" : " are"));
  }
  return text;
}

/// What a platform reserves so that plans leave what a monitor shows beside tensors.
std::string reserve_text(const std::vector<Validation>& validations) {
  std::string text;
  for (const Validation& validation : validations) {
    const auto fit = memory_errors(validation) ? memory_fit(validation) : std::nullopt;
    if (!fit || fit->reserve == Bytes(0)) continue;
    text += fmt::format("\nwith 'reserved: {}' of {} plans on {} leave what the line adds to peak memory\n",
                        format_human_bytes(fit->reserve), format_human_bytes(validation.device_memory),
                        validation.platform);
  }
  return text;
}

std::string left_out_text(const std::vector<LeftOutStep>& left_out) {
  if (left_out.empty()) return {};
  Table table{{"left out", "reason"}, {}, 2};
  for (const LeftOutStep& step : left_out) table.rows.push_back({step.name, step.reason});
  return "\n" + to_text(table);
}

Detail bytes_or_null(const std::optional<Bytes>& bytes) { return bytes ? Detail(bytes->value()) : Detail(); }

Detail::List steps_list(const Validation& validation) {
  Detail::List list;
  for (const PredictedStep& each : validation.steps) {
    list.push_back(Detail::Record{{"name", each.step.name},
                                  {"run", static_cast<std::int64_t>(each.run)},
                                  {"measured_s", each.step.time.value()},
                                  {"predicted_s", each.time.value()},
                                  {"plain_s", each.plain.value()},
                                  {"measured_memory_bytes", bytes_or_null(each.step.peak_memory)},
                                  {"predicted_memory_bytes", bytes_or_null(each.peak_memory)}});
  }
  return list;
}

Detail memory_record(const Validation& validation) {
  const auto errors = memory_errors(validation);
  if (!errors) return {};
  Detail::Record record = to_record(*errors);
  if (const auto fit = memory_fit(validation)) {
    record.emplace_back("factor", fit->factor);
    record.emplace_back("offset_bytes", fit->offset.value());
    record.emplace_back("with_both", to_record(fit->errors));
    record.emplace_back("reserve_bytes", fit->reserve.value());
  }
  return record;
}

Detail::Record record_of(const Validation& validation) {
  const MeasuredNoise noise = measured_noise(validation);
  return {{"table", validation.site.table},
          {"platform", validation.platform},
          {"device", validation.device.name},
          {"precision", precision_of(validation)},
          {"time", to_record(time_errors(validation))},
          {"plain", to_record(plain_errors(validation))},
          {"plain_share", validation.plain_share},
          {"too_large", static_cast<std::int64_t>(validation.too_large)},
          {"memory", memory_record(validation)},
          {"noise",
           Detail::Record{
               {"runs", static_cast<std::int64_t>(noise.runs)}, {"median", noise.median}, {"worst", noise.worst}}},
          {"steps", steps_list(validation)}};
}

/// Fields have no quotes.
std::string csv_field(std::string text) {
  std::ranges::replace(text, ',', '_');
  return text;
}

std::string csv_bytes(const std::optional<Bytes>& bytes) { return bytes ? std::to_string(bytes->value()) : ""; }

}  // namespace

Description describe_validations(const std::vector<Validation>& validations, const std::vector<LeftOutStep>& left_out) {
  std::string text = errors_text(validations);
  if (validations.size() == 1) text += "\n" + steps_text(validations.front());
  text += reserve_text(validations) + too_large_text(validations) + left_out_text(left_out);
  Detail::List sites;
  for (const Validation& validation : validations) sites.push_back(record_of(validation));
  Detail::List rows;
  for (const LeftOutStep& step : left_out) rows.push_back(Detail::Record{{"name", step.name}, {"reason", step.reason}});
  return {text, {{"sites", sites}, {"left_out", rows}}};
}

std::string validation_csv(const std::vector<Validation>& validations) {
  std::string text =
      "table,platform,precision,name,run,measured_s,predicted_s,plain_s,measured_memory_bytes,"
      "predicted_memory_bytes\n";
  for (const Validation& validation : validations) {
    for (const PredictedStep& each : validation.steps) {
      fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{:.6g},{:.6g},{:.6g},{},{}\n",
                     csv_field(name_of(validation.site)), csv_field(validation.platform), precision_of(validation),
                     each.step.name, each.run, each.step.time.value(), each.time.value(), each.plain.value(),
                     csv_bytes(each.step.peak_memory), csv_bytes(each.peak_memory));
    }
  }
  return text;
}

}  // namespace stagecraft
