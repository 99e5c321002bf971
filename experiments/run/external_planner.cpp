#include "experiments/run/external_planner.hpp"

#include "experiments/run/judge.hpp"
#include "planners/registry.hpp"
#include "sim/base/foreign_program.hpp"
#include "sim/base/text.hpp"
#include "sim/io/answer_file.hpp"
#include "sim/io/json.hpp"
#include "sim/io/request_file.hpp"
#include "sim/io/text_file.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::string_view kPrefix = "exec:";
constexpr std::string_view kClientPrefix = "call:";

/// One program as a planner.
struct External {
  std::string name;
  std::string path;
  ExternalCalls calls;
};

/// What a planner outside this program has answered.
struct Reply {
  std::string text;
  std::string complaint;  ///< for the end of a refusal
};
/// Asks it. **Throws** PlannerFailure and PlannerTimeout.
using Asked = std::function<Reply(const std::string& question)>;

void check_program(const External& external) {
  const InputPlace place{external.name, 0, 0, ""};
  const std::string hint =
      "exec: takes the path of an executable file; a relative one starts at the working folder, "
      "in a study at the study's file";
  std::error_code problem;
  const std::filesystem::file_status status = std::filesystem::status(external.path, problem);
  if (status.type() == std::filesystem::file_type::not_found) throw InputError("no such file", place, hint);
  if (status.type() == std::filesystem::file_type::none) throw InputError(problem.message(), place, hint);
  if (status.type() != std::filesystem::file_type::regular) {
    const bool is_folder = status.type() == std::filesystem::file_type::directory;
    throw InputError(std::string("expected a program, found ") + (is_folder ? "a directory" : "no regular file"), place,
                     hint);
  }
  if (access(external.path.c_str(), X_OK) != 0) {
    throw InputError("the file is not executable", place, "chmod +x makes it so");
  }
}

/// What the program wrote to standard error, for the end of a refusal; empty if it wrote nothing.
std::string complaint(const ForeignEnd& end) {
  if (end.errors.find_first_not_of(" \t\r\n") == std::string::npos) return "";
  const std::string head = end.are_errors_cut ? "the end of its standard error" : "its standard error";
  return "; " + head + ":\n" + indented(end.errors, "    ");
}

std::string start_problem(int code) {
  if (code == ENOEXEC)
    return "the system cannot run this file: a script starts with a line such as #!/usr/bin/env python3";
  if (code == ENOENT) return "the interpreter that its first line names does not exist";
  return std::string("cannot be started: ") + std::strerror(code);
}

/// The reason why a program gave no answer; empty if it gave one.
std::string failure(const ForeignEnd& end, const ForeignProgram& call) {
  switch (end.how) {
    case ForeignEnd::How::NotStarted: return start_problem(end.code);
    case ForeignEnd::How::Killed:
      return "was killed by signal " + std::to_string(end.code) + " (" + strsignal(end.code) + ")";
    case ForeignEnd::How::TooMuch:
      return "answered with more than " + format_whole_bytes(Bytes(static_cast<std::int64_t>(call.most_output)));
    case ForeignEnd::How::TooSlow:
      return "gave no answer within its time limit of " + format_human_seconds(call.time_limit);
    case ForeignEnd::How::Left: break;
  }
  if (end.code != 0) return "ended with exit code " + std::to_string(end.code);
  const bool is_empty = end.output.find_first_not_of(" \t\r\n") == std::string::npos;
  return is_empty ? "ended without an answer on its standard output" : "";
}

Detail::Record option_record(const Options& options) {
  Detail::Record record;
  for (const auto& [name, value] : options.values()) {
    record.emplace_back(name, std::visit([](const auto& each) { return Detail(each); }, value));
  }
  return record;
}

std::string question_of(const PlanRequest& request, const std::optional<std::int64_t>& seed) {
  const bool is_free = request.schedule.name.empty();
  return write_request({.graph = request.graph,
                        .platform = request.platform,
                        .schedule = is_free ? std::nullopt : std::optional(request.schedule),
                        .microbatches = request.microbatches,
                        .training = request.training,
                        .options = option_record(request.options),
                        .memory = to_string(request.memory),
                        .samples_per_update = request.samples_per_update,
                        .seed = seed,
                        .running = request.running});
}

Reply run_program(const External& external, const std::string& question) {
  const bool has_folder = external.path.find('/') != std::string::npos;
  const ForeignProgram call{.command = {has_folder ? external.path : "./" + external.path},
                            .input = question,
                            .time_limit = external.calls.time_limit};
  ForeignEnd end = run_foreign_program(call);
  const InputPlace place{external.name, 0, 0, ""};
  const std::string problem = failure(end, call);
  if (end.how == ForeignEnd::How::TooSlow) {
    throw PlannerTimeout(problem + complaint(end), place);
  }
  if (!problem.empty()) throw PlannerFailure(problem + complaint(end), place);
  return {std::move(end.output), complaint(end)};
}

/// The keys of the plan that differ from the request. A program has to copy them.
std::vector<Finding> deviations(const PlanRequest& request, const PlannerAnswer& answer) {
  const Plan& plan = answer.reading.plan;
  std::vector<Finding> findings;
  const auto compare = [&](const std::string& what, const std::string& found, const std::string& asked) {
    if (found == asked) return;
    findings.push_back({"request", std::nullopt, what + ": asked for " + asked + ", found " + found});
  };
  const auto text_of = [](const Training& training) { return to_json(training_record(training), -1); };
  compare("microbatch_size", std::to_string(plan.microbatch_size), std::to_string(request.graph.microbatch_size));
  compare("microbatches", std::to_string(plan.microbatches), std::to_string(request.microbatches));
  if (!request.schedule.name.empty()) {
    const bool is_plain = request.schedule.parameters.empty();
    compare("schedule", is_plain ? plan.schedule.name : schedule_text(plan.schedule), schedule_text(request.schedule));
  }
  if (answer.states_training) compare("training", text_of(plan.training), text_of(request.training));
  return findings;
}

/// The rules that the plan breaks. Its length is left out: `make_plan` may still lengthen the run, and judges it then.
std::vector<Finding> broken_rules(const PlanRequest& request, const PlanReading& reading) {
  if (reading.plan.schedule.name == "literal") {
    return {{"schedule", std::nullopt, "a planner cannot use the schedule 'literal', whose orders come from a file"}};
  }
  std::vector<Finding> findings = judge_plan(request.graph, request.platform, reading).findings;
  std::erase_if(findings, [](const Finding& finding) { return finding.rule == "length"; });
  return findings;
}

Planned accept(const std::string& name, const PlanRequest& request, PlannerAnswer answer, const std::string& place) {
  Plan& plan = answer.reading.plan;
  if (!answer.states_training) plan.training = request.training;
  refuse_findings(place, "the plan is not what was asked for", deviations(request, answer),
                  "these keys are copied from the request");
  refuse_findings(place, "the plan breaks a rule", broken_rules(request, answer.reading), "");
  plan.planner = name;
  plan.model = request.graph.name;
  plan.platform = request.platform.spec.name;
  return {std::move(plan), std::move(answer.details)};
}

/// Reads the answer. If it cannot be read, the refusal also shows what the program wrote to standard error.
auto read_answer(const Reply& reply, const std::string& place, const PlanRequest& request) {
  try {
    return parse_answer(reply.text, place, request.graph, request.platform);
  } catch (const InputError& error) {
    throw InputError(error.message() + reply.complaint, error.place(), error.hint());
  }
}

PlanResult plan_with(const std::string& name, const Asked& ask, const std::optional<std::int64_t>& seed,
                     const PlanRequest& request) {
  const Reply reply = ask(question_of(request, seed));
  const std::string place = "answer of " + name;
  auto answer = read_answer(reply, place, request);
  if (auto* refusal = std::get_if<PlannerRefusal>(&answer)) {
    return Infeasible{.reason = std::move(refusal->reason),
                      .device = refusal->device,
                      .stage = refusal->stage,
                      .excess = refusal->excess,
                      .hint = std::move(refusal->hint),
                      .smallest_memory = refusal->smallest_memory,
                      .is_costly = true};  // its run time is unknown, so it is not asked again
  }
  return accept(name, request, std::get<PlannerAnswer>(std::move(answer)), place);
}

PlannerInfo outside_planner(const std::string& name, const std::string& summary, const std::string& source, Asked ask,
                            const std::optional<std::int64_t>& seed) {
  return {.name = name,
          .summary = summary,
          .source = source,
          .default_schedule = "",
          .options = {},
          .plan = [name, ask = std::move(ask),
                   seed](const PlanRequest& request) { return plan_with(name, ask, seed, request); },
          .only_by_name = true,
          .takes_any_option = true,
          .saves_memory = true,
          .orders_turns = true};
}

/// A planner of the client that the program serves.
PlannerInfo client_planner(const std::string& name, const ExternalCalls& calls) {
  const std::string given = name.substr(kClientPrefix.size());
  const PlannerClient* client = PlannerClient::current();
  if (client == nullptr) {
    throw InputError("there is no planner " + quote(name), {}, "call: is for clients of 'stagecraft serve'");
  }
  const auto ask = [name, given, client](const std::string& question) -> Reply {
    PlannerClient::Answer answer = client->ask(given, question);
    if (!answer.problem.empty()) throw PlannerFailure(answer.problem, {name, 0, 0, ""});
    return {std::move(answer.text), {}};
  };
  return outside_planner(name, "a planner of the client", given, ask, calls.seed);
}

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): options that name a planner are read anywhere
const PlannerClient* current_client = nullptr;

}  // namespace

PlannerClient::PlannerClient(Ask ask) : ask_(std::move(ask)) { current_client = this; }

PlannerClient::~PlannerClient() { current_client = nullptr; }

const PlannerClient* PlannerClient::current() { return current_client; }

bool is_external(const std::string& name) { return name.starts_with(kPrefix) || is_of_client(name); }

bool is_of_client(const std::string& name) { return name.starts_with(kClientPrefix); }

PlannerInfo external_planner(const std::string& name, const std::string& path, const ExternalCalls& calls) {
  External external{name, path, calls};
  check_program(external);
  const auto ask = [external = std::move(external)](const std::string& question) {
    return run_program(external, question);
  };
  return outside_planner(name, "an external program", path, ask, calls.seed);
}

std::shared_ptr<const PlannerInfo> resolve_planner(const std::string& name, const ExternalCalls& calls,
                                                   const std::string& folder) {
  if (!is_external(name) && name.find('/') != std::string::npos) {
    throw InputError("there is no planner " + quote(name), {},
                     "for a program of your own, write " + quote("exec:" + name));
  }
  if (!is_external(name)) return {std::shared_ptr<const PlannerInfo>(), &find_planner(name)};
  if (has_control_characters(name))
    throw InputError("a planner's name has no control characters, found " + quote(name));
  if (is_of_client(name)) return std::make_shared<const PlannerInfo>(client_planner(name, calls));
  const std::string path = name.substr(kPrefix.size());
  if (path.empty()) throw InputError("expected the path of a program after 'exec:', found none");
  const std::filesystem::path whole = std::filesystem::path(folder) / path;
  return std::make_shared<const PlannerInfo>(external_planner(name, whole.string(), calls));
}

}  // namespace stagecraft
