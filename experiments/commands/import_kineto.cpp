#include "experiments/commands/import_kineto.hpp"

#include "experiments/commands/model_answer.hpp"
#include "experiments/measured/kineto_model.hpp"
#include "experiments/measured/kineto_remarks.hpp"
#include "experiments/measured/kineto_timeline.hpp"
#include "experiments/measured/kineto_transfers.hpp"
#include "experiments/measured/kineto_view.hpp"
#include "experiments/run/limits.hpp"
#include "experiments/run/option_text.hpp"
#include "experiments/run/written_file.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"
#include "sim/io/kineto_trace.hpp"

#include <cstddef>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

namespace stagecraft {
namespace {

KinetoModelChoice model_choice(const KinetoImport& import) {
  const auto given = [](const std::optional<std::string>& value, const std::string& option) {
    if (!value) throw InputError(option + " is required to write a model", {}, "see stagecraft import --help");
    return *value;
  };
  return {read_count_option("--microbatch-size", given(import.microbatch_size, "--microbatch-size"), 1,
                            run_limits::kMostSamples),
          read_name_option("--device", given(import.device, "--device")), import.without_shapes};
}

/// What was read from all traces.
struct KinetoTables {
  std::vector<KinetoProfile> profiles;
  std::vector<TransferKind> transfers;
  std::vector<TransferKernel> kernels;  ///< of transfers, for a timeline
};

constexpr const char* kOneEach = "give one trace for each stage or rank";

void refuse_file_twice(const std::vector<std::string>& files) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      std::error_code unknown;
      if (!std::filesystem::equivalent(files[i], files[k], unknown)) continue;
      throw InputError("the file is given twice", {files[i], 0, 0, ""}, kOneEach);
    }
  }
}

/// Traces of different runs do not agree in each nanosecond. Those with ranks need not be looked at: the ranks differ.
void refuse_copy(const std::vector<KinetoProfile>& before, const KinetoProfile& profile) {
  const auto content = [](const KinetoProfile& of) {
    return std::tie(of.base_time, of.kernels, of.busy, of.idle, of.unattributed, of.operations);
  };
  for (const KinetoProfile& other : before) {
    if (other.rank || profile.rank || content(other) != content(profile)) continue;
    throw InputError("has the same kernels as " + quote(other.file), {profile.file, 0, 0, ""}, kOneEach);
  }
}

/// One trace is held at a time.
KinetoTables read_all(const KinetoImport& import) {
  refuse_file_twice(import.files);
  KinetoTables tables;
  TransferTable transfers;
  for (const std::string& file : import.files) {
    const KinetoTrace trace = read_kineto_trace(file);
    KinetoProfile profile = profile_kineto(trace, import.choice);
    refuse_copy(tables.profiles, profile);
    tables.profiles.push_back(std::move(profile));
    transfers.add(trace);
  }
  tables.transfers = transfers.kinds();
  if (import.timeline) tables.kernels = transfers.kernels();
  return tables;
}

Description describe_tables(const KinetoTables& tables) {
  Description all;
  Detail::List traces;
  for (const KinetoProfile& profile : tables.profiles) {
    Description one = describe_kineto(profile);
    all.text += (all.text.empty() ? "" : "\n") + one.text;
    traces.emplace_back(std::move(one.record));
  }
  Description transfers = describe_transfers(tables.transfers, tables.profiles.size());
  if (!transfers.text.empty()) all.text += "\n" + transfers.text;
  all.record.emplace_back("traces", std::move(traces));
  for (auto& entry : transfers.record) all.record.push_back(std::move(entry));
  return all;
}

}  // namespace

Answer import_kineto(const KinetoImport& import, const Settings& settings) {
  refuse_overwriting(import.output, OutputKind::ModelFile, import.files);
  std::optional<KinetoModelChoice> choice;
  if (import.output) choice = model_choice(import);
  const KinetoTables tables = read_all(import);
  for (const std::string& warning : transfer_warnings(tables.transfers, tables.profiles.size())) {
    settings.say("warning: " + warning);
  }
  Description answer = describe_tables(tables);
  if (import.timeline) {
    Description timeline = describe_timeline(tables.profiles, tables.kernels);
    answer.text += "\n" + timeline.text;
    answer.record.push_back(std::move(timeline.record.front()));
  }
  if (!choice) return {.text = answer.text, .json = to_json(answer.record)};
  Answer model = model_answer(kineto_model(tables.profiles, *choice), import.output);
  for (const std::string& remark : model_remarks(tables.profiles, *choice)) settings.say(remark);
  if (!names_file(import.output)) return model;
  answer.record.emplace_back("written", from_json(model.json).value_or(Detail()));
  return {.text = answer.text + "\n" + model.text, .json = to_json(answer.record)};
}

}  // namespace stagecraft
