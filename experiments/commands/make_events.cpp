#include "experiments/commands/add_option.hpp"
#include "experiments/commands/shared_options.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/run/event_makers.hpp"
#include "experiments/run/inputs.hpp"
#include "experiments/run/limits.hpp"
#include "experiments/run/option_text.hpp"
#include "experiments/run/random_search.hpp"
#include "experiments/run/written_file.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/events_file.hpp"
#include "sim/io/json.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/yaml_values.hpp"

#include <array>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

constexpr Seconds kLongestTime(1e9);
constexpr std::int64_t kMostSteps = 1000;

/// The options of all kinds; each kind has its own.
struct MakeEventsOptions {
  std::string kind;
  std::optional<std::string> platform, until, every, lasting, strength, of;
  std::optional<std::string> trace, link;
  std::optional<std::string> model, microbatch_size, steps, interval, changes;
  std::optional<std::string> seed;
  std::optional<std::string> output;
};

struct NamedOption {
  const char* name;
  std::optional<std::string> MakeEventsOptions::* value;
  std::string_view kinds;     ///< that it applies to
  std::string_view required;  ///< those of them that need it
};
constexpr std::array<NamedOption, 14> kOptions = {{
    {"--platform", &MakeEventsOptions::platform, "stragglers memory failures", "stragglers memory failures"},
    {"--until", &MakeEventsOptions::until, "stragglers memory failures", "stragglers memory failures"},
    {"--every", &MakeEventsOptions::every, "stragglers memory failures", "stragglers memory failures"},
    {"--lasting", &MakeEventsOptions::lasting, "stragglers memory failures", "stragglers memory"},
    {"--strength", &MakeEventsOptions::strength, "stragglers memory", ""},
    {"--of", &MakeEventsOptions::of, "failures", ""},
    {"--trace", &MakeEventsOptions::trace, "bandwidth", "bandwidth"},
    {"--link", &MakeEventsOptions::link, "bandwidth", "bandwidth"},
    {"--model", &MakeEventsOptions::model, "search", "search"},
    {"--microbatch-size", &MakeEventsOptions::microbatch_size, "search", ""},
    {"--steps", &MakeEventsOptions::steps, "search", "search"},
    {"--interval", &MakeEventsOptions::interval, "search", "search"},
    {"--changes", &MakeEventsOptions::changes, "search", ""},
    {"--seed", &MakeEventsOptions::seed, "stragglers memory failures search", ""},
}};

/// Refuses options of other kinds, and asks for those that are missing.
void check_options(const MakeEventsOptions& options) {
  for (const NamedOption& option : kOptions) {
    const bool applies = option.kinds.find(options.kind) != std::string_view::npos;
    const bool is_required = option.required.find(options.kind) != std::string_view::npos;
    const bool is_given = (options.*option.value).has_value();
    const char* hint = "see stagecraft make-events --help";
    if (is_given && !applies) throw InputError("does not apply to " + options.kind, {"", 0, 0, option.name}, hint);
    if (is_required && !is_given) {
      throw InputError(std::string(option.name) + " is required for " + options.kind, {}, hint);
    }
  }
}

std::uint64_t read_seed(const MakeEventsOptions& options) {
  return static_cast<std::uint64_t>(
      read_count_option("--seed", options.seed.value_or("1"), 0, std::numeric_limits<std::int64_t>::max()));
}

/// `LOW,HIGH` of `least` to `most`.
std::pair<double, double> read_strength(const std::string& text, double least, double most) {
  const std::vector<std::string> ends = read_list_option("--strength", text);
  const InputPlace place{"", 0, 0, "--strength"};
  const auto fail = [&] {
    return InputError(
        "expected LOW,HIGH from " + format_number(least) + " to " + format_number(most) + ", found " + quote(text),
        place);
  };
  if (ends.size() != 2) throw fail();
  const Parsed<double> low = parse_number(ends[0]);
  const Parsed<double> high = parse_number(ends[1]);
  if (!low || !high || *low.value < least || *high.value > most || *low.value > *high.value) throw fail();
  return {*low.value, *high.value};
}

/// Reads `--until` and `--every`, with which a file has not too many of `what`.
std::pair<Seconds, Seconds> read_times(const MakeEventsOptions& options, double most, const std::string& what) {
  const Seconds until = read_time_option("--until", *options.until, kLongestTime);
  const Seconds every = read_time_option("--every", *options.every, kLongestTime);
  if (until / every > most) {
    throw InputError("expected at most " + format_number(most) + " " + what + ", and --until is " +
                         format_number(until / every) + " times --every",
                     {"", 0, 0, "--every"});
  }
  return {until, every};
}

Disturbances read_disturbances(const MakeEventsOptions& options, bool are_stragglers) {
  Disturbances given;
  std::tie(given.until, given.every) = read_times(options, kMostMadeEvents / 2.0, "disturbances");
  given.lasting = read_time_option("--lasting", *options.lasting, kLongestTime);
  const std::string strength = options.strength.value_or(are_stragglers ? "1.2,2" : "0.1,0.5");
  std::tie(given.low, given.high) =
      are_stragglers ? read_strength(strength, 1.0, kMostEventFactor) : read_strength(strength, 0.0, 1.0);
  given.seed = read_seed(options);
  return given;
}

std::vector<NamedEvent> make_disturbances(const MakeEventsOptions& options) {
  const Platform platform = build_platform(load_platform_spec(*options.platform));
  const bool are_stragglers = options.kind == "stragglers";
  const Disturbances given = read_disturbances(options, are_stragglers);
  return are_stragglers ? straggler_events(platform, given) : memory_events(platform, given);
}

std::vector<NamedEvent> make_failures(const MakeEventsOptions& options) {
  const Platform platform = build_platform(load_platform_spec(*options.platform));
  Failures given;
  std::tie(given.until, given.every) = read_times(options, kMostMadeEvents, "failures");
  if (options.lasting) given.lasting = read_time_option("--lasting", *options.lasting, kLongestTime);
  given.of_nodes = read_choice_option("--of", options.of.value_or("devices"), {"devices", "nodes"}) == "nodes";
  given.seed = read_seed(options);
  if (given.of_nodes && node_names(platform).empty()) {
    throw InputError("the platform " + quote(platform.spec.name) + " lists devices, and no nodes", {"", 0, 0, "--of"});
  }
  return failure_events(platform, given);
}

std::vector<NamedEvent> make_bandwidths(const MakeEventsOptions& options) {
  const std::string link = read_name_option("--link", *options.link);
  return bandwidth_events(CsvTable(read_text_file(*options.trace), *options.trace), link);
}

/// The name of a model beside the events file.
std::string model_name(const std::filesystem::path& output, std::int64_t step) {
  return output.stem().string() + "-step" + std::to_string(step) + ".yaml";
}

/// Writes the models beside the events file.
std::vector<NamedEvent> make_search(const MakeEventsOptions& options, const Settings& settings) {
  if (!names_file(options.output)) {
    throw InputError("--output is required for search: the models are written beside the events");
  }
  const Model model = load_model(*options.model);
  const auto size = read_count_option("--microbatch-size", options.microbatch_size, 1, run_limits::kMostSamples);
  const auto say = [&](const std::string& warning) { settings.say("warning: " + warning); };
  const LayerGraph first = profile_at(model, size, StashConvention::Autograd, say);
  SearchSteps search;
  search.steps = read_count_option("--steps", *options.steps, 1, kMostSteps);
  search.changes = read_count_option("--changes", options.changes.value_or("4"), 1, kMostSteps);
  search.seed = read_seed(options);
  const std::int64_t interval = read_count_option("--interval", *options.interval, 1, kMostMicrobatches / kMostSteps);
  const std::filesystem::path output(*options.output);
  for (std::int64_t step = 1; step <= search.steps; ++step) {
    refuse_overwriting((output.parent_path() / model_name(output, step)).string(), OutputKind::ModelFile,
                       {*options.model});
  }
  std::vector<NamedEvent> events;
  for (LayerGraph& graph : random_search(first, search)) {
    const auto step = static_cast<std::int64_t>(events.size()) + 1;
    const std::string name = model_name(output, step);
    Model next;
    next.profiles = {std::move(graph)};
    write_file_atomically((output.parent_path() / name).string(), write_model(next));
    NamedEvent named;
    named.event.at_microbatch = static_cast<std::uint32_t>(step * interval);
    named.event.change = ModelChange{static_cast<std::uint32_t>(step)};
    named.names = {name};
    events.push_back(std::move(named));
  }
  return events;
}

std::vector<NamedEvent> make_events(const MakeEventsOptions& options, const Settings& settings) {
  if (options.kind == "bandwidth") return make_bandwidths(options);
  if (options.kind == "failures") return make_failures(options);
  return options.kind == "search" ? make_search(options, settings) : make_disturbances(options);
}

VerbAction configure_make_events(CLI::App& command) {
  auto options = std::make_shared<MakeEventsOptions>();
  add_required(command, "KIND", options->kind,
               "stragglers: devices that slow down for a while; memory: devices that lose memory for a while; "
               "failures: devices or nodes that fail; bandwidth: a link's bandwidth over time; search: a random "
               "architecture search");
  add_option(command, "--platform", options->platform,
             "stragglers, memory, failures: the platform: a file, or the name of a shipped one");
  add_option(command, "--until", options->until,
             "stragglers, memory, failures: none begins after this time, such as '60 s'");
  add_option(command, "--every", options->every, "stragglers, memory, failures: mean time from one to the next");
  add_option(command, "--lasting", options->lasting,
             "stragglers, memory: mean time that one lasts; failures: the time that each lasts (for ever)");
  add_option(command, "--strength", options->strength,
             "LOW,HIGH: stragglers: factor of a device's times (1.2,2); memory: the share that it loses (0.1,0.5)");
  add_option(command, "--of", options->of, "failures: devices, or nodes whose devices fail together (devices)");
  add_option(command, "--trace", options->trace, "bandwidth: CSV file with the columns 'at' and 'bandwidth'");
  add_option(command, "--link", options->link, "bandwidth: the link, as in an events file");
  add_option(command, "--model", options->model, "search: the first model: a file, or the name of a shipped one");
  add_option(command, "--microbatch-size", options->microbatch_size,
             "search: samples in a microbatch; default: the smallest size that the model file gives");
  add_option(command, "--steps", options->steps, "search: models that follow the first");
  add_option(command, "--interval", options->interval, "search: microbatches from one model to the next");
  add_option(command, "--changes", options->changes, "search: layers that a step adds, removes or resizes (4)");
  add_option(command, "--seed", options->seed, "stragglers, memory, failures, search: other random numbers (1)");
  add_option(command, "-o,--output", options->output, "write the events to this file; search: the models beside it");
  return [options](const Settings& settings) {
    options->kind =
        read_choice_option("KIND", options->kind, {"stragglers", "memory", "failures", "bandwidth", "search"});
    check_options(*options);
    std::vector<std::string> files_read;
    for (const auto& file : {options->trace, options->platform, options->model}) {
      if (file) files_read.push_back(*file);
    }
    refuse_overwriting(options->output, OutputKind::EventsFile, files_read);
    const std::vector<NamedEvent> events = make_events(*options, settings);
    const std::string yaml = write_events(events);
    const std::string json = to_json(read_detail(parse_yaml(yaml, "events")));
    if (!names_file(options->output)) return Answer{.text = yaml, .json = json};
    write_file_atomically(*options->output, options->output->ends_with(".json") ? json + "\n" : yaml);
    return Answer{.text = counted(events.size(), "event") + ", written to " + *options->output + "\n", .json = json};
  };
}

}  // namespace

const Verb make_events_verb{
    .name = "make-events",
    .summary = "make an events file: stragglers, memory pressure, failures, a bandwidth trace, an architecture search",
    .configure = configure_make_events,
    .examples = {"stagecraft make-events failures --platform dgx-1-v100 --until 60s --every 20s -o events.yaml"},
};

}  // namespace stagecraft
