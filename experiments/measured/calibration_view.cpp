#include "experiments/measured/calibration_view.hpp"

#include "experiments/view/table.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"

#include <fmt/core.h>

#include <utility>

namespace stagecraft {
namespace {

double error_of(const FittedStep& step, Seconds FittedStep::* predicted) {
  return step.*predicted / step.step.time - 1.0;
}

std::string error_text(const FittedValue& value) {
  if (!value.error) return "-";
  return is_open(value) ? "open" : percent(*value.error);
}

std::string constants_text(const Calibration& calibration) {
  Table table{{"constant", "before", "after", "std. error", "rows", "meaning"}, {}, 1, true};
  for (const FittedValue& value : calibration.constants) {
    table.rows.push_back({value.constant.name, constant_text(value.constant, value.before),
                          constant_text(value.constant, value.after), error_text(value), std::to_string(value.rows),
                          value.constant.meaning});
  }
  return to_text(table);
}

std::string errors_text(const Calibration& calibration) {
  Table table{{"error", "median", "mean", "worst"}, {}};
  const auto add = [&](const char* name, Seconds FittedStep::* predicted) {
    const StepErrors errors = errors_of(calibration, predicted);
    table.rows.push_back({name, percent(errors.median), percent(errors.mean), percent(errors.worst)});
  };
  add("before", &FittedStep::before);
  add("after", &FittedStep::after);
  return to_text(table);
}

std::string steps_text(const Calibration& calibration) {
  Table table{{"step", "measured", "before", "error", "after", "error"}, {}};
  for (const FittedStep& step : calibration.steps) {
    table.rows.push_back({step.step.name, format_human_seconds(step.step.time), format_human_seconds(step.before),
                          signed_percent(error_of(step, &FittedStep::before)), format_human_seconds(step.after),
                          signed_percent(error_of(step, &FittedStep::after))});
  }
  return to_text(table);
}

Detail::List constants_list(const Calibration& calibration) {
  Detail::List list;
  for (const FittedValue& value : calibration.constants) {
    list.push_back(Detail::Record{{"name", value.constant.name},
                                  {"before", value.before},
                                  {"after", value.after},
                                  {"relative_standard_error", value.error ? Detail(*value.error) : Detail()},
                                  {"rows", static_cast<std::int64_t>(value.rows)}});
  }
  return list;
}

Detail::List steps_list(const Calibration& calibration) {
  Detail::List list;
  for (const FittedStep& step : calibration.steps) {
    list.push_back(Detail::Record{{"name", step.step.name},
                                  {"measured_s", step.step.time.value()},
                                  {"before_s", step.before.value()},
                                  {"after_s", step.after.value()},
                                  {"error_before", error_of(step, &FittedStep::before)},
                                  {"error_after", error_of(step, &FittedStep::after)}});
  }
  return list;
}

Detail::List confusions_list(const Calibration& calibration) {
  Detail::List list;
  for (const Confusion& each : calibration.confusions) {
    list.push_back(Detail::Record{{"first", calibration.constants[each.first].constant.name},
                                  {"second", calibration.constants[each.second].constant.name},
                                  {"correlation", each.correlation}});
  }
  return list;
}

Detail::List left_list(const Calibration& calibration) {
  Detail::List list;
  for (const LeftConstant& left : calibration.left) {
    list.push_back(Detail::Record{{"name", left.name}, {"reason", left.reason}});
  }
  return list;
}

std::string moved_names(const Calibration& calibration) {
  std::string names;
  for (const FittedValue& value : calibration.constants) {
    if (value.after != value.before) names += (names.empty() ? "" : ", ") + value.constant.name;
  }
  return names;
}

}  // namespace

Description describe_calibration(const Calibration& calibration, const std::string& file) {
  const DeviceDescription& device = calibration.device;
  const std::string text =
      fmt::format("{} in {}: {} fitted to {} of {}\n\n{}\n{}\n{}", device.name, to_string(device.precision),
                  counted(calibration.constants.size(), "constant"), counted(calibration.steps.size(), "step"), file,
                  constants_text(calibration), errors_text(calibration), steps_text(calibration));
  return {text,
          {{"device", device.name},
           {"precision", to_string(device.precision)},
           {"constants", constants_list(calibration)},
           {"errors", Detail::Record{{"before", to_record(errors_of(calibration, &FittedStep::before))},
                                     {"after", to_record(errors_of(calibration, &FittedStep::after))}}},
           {"confusions", confusions_list(calibration)},
           {"left", left_list(calibration)},
           {"steps", steps_list(calibration)}}};
}

std::vector<std::string> calibration_warnings(const Calibration& calibration) {
  std::vector<std::string> warnings;
  for (const FittedValue& value : calibration.constants) {
    const std::string name = quote(value.constant.name);
    if (value.rows == 0 && value.after == value.before) {
      warnings.push_back(fmt::format("no row depends on {}, which stays as it was", name));
    } else if (value.rows == 0) {
      warnings.push_back(fmt::format("where the fit ended no row depends on {}: the rows bound it, and no more", name));
    } else if (is_at_bound(value)) {
      warnings.push_back(
          fmt::format("{} ended at its bound, 1: something else of the rows is faster than it is "
                      "modelled",
                      name));
    } else if (is_open(value)) {
      warnings.push_back(fmt::format("the rows do not determine {}: leave it out of --fit", name));
    }
  }
  for (const Confusion& each : calibration.confusions) {
    warnings.push_back(
        fmt::format("the rows hardly tell {} and {} apart (correlation {:.3f}): fit one of them, or add "
                    "rows of other shapes",
                    quote(calibration.constants[each.first].constant.name),
                    quote(calibration.constants[each.second].constant.name), each.correlation));
  }
  return warnings;
}

DeviceDescription fitted_device(const Calibration& calibration, const std::string& file) {
  DeviceDescription device = calibration.device;
  const StepErrors errors = errors_of(calibration, &FittedStep::after);
  const std::string names = moved_names(calibration);
  if (names.empty()) return device;
  const std::string others = device.fit.empty() ? "assumed" : device.fit;
  device.fit = fmt::format("{} fitted to {} of {}, median error {}, worst {}; others {}", names,
                           counted(calibration.steps.size(), "step"), file, percent(errors.median),
                           percent(errors.worst), others);
  return device;
}

}  // namespace stagecraft
