#include "sim/base/text.hpp"
#include "sim/io/events_file.hpp"
#include "sim/io/yaml_text.hpp"

#include <cstdint>
#include <utility>

namespace stagecraft {
namespace {

Detail names_of(const NamedEvent& named) {
  if (named.names.size() == 1) return named.names.front();
  Detail::List list;
  for (const std::string& name : named.names) list.emplace_back(name);
  return list;
}

/// The keys of one kind of change.
struct KeysOf {
  const NamedEvent& named;
  Detail::Record& record;

  void operator()(const Slowdown& change) const {
    record.emplace_back("device", names_of(named));
    record.emplace_back("slowdown", change.factor);
  }
  void operator()(const BandwidthChange& change) const {
    record.emplace_back("link", names_of(named));
    record.emplace_back("bandwidth", format_bandwidth(change.bandwidth));
  }
  void operator()(const MemoryLimit& change) const {
    record.emplace_back("device", names_of(named));
    record.emplace_back("memory", format_whole_bytes(change.memory));
  }
  void operator()(const Failure& change) const {
    record.emplace_back("device", names_of(named));
    record.emplace_back("fails_for", format_seconds(change.duration));
  }
  void operator()(const LinkFailure& change) const {
    record.emplace_back("link", names_of(named));
    record.emplace_back("fails_for", format_seconds(change.duration));
  }
  void operator()(const Departure& change) const {
    record.emplace_back("device", names_of(named));
    record.emplace_back("leaves_at", format_seconds(change.leaves_at));
  }
  void operator()(const ModelChange&) const { record.emplace_back("model", names_of(named)); }
  void operator()(const SizeChange& change) const { record.emplace_back("microbatch_size", change.samples); }
  void operator()(const MicrobatchWork&) const { record.emplace_back("work", names_of(named)); }
  void operator()(const Jitter& change) const {
    record.emplace_back("jitter",
                        Detail::Record{{"sigma", change.sigma}, {"seed", static_cast<std::int64_t>(change.seed)}});
  }
};

}  // namespace

std::string write_events(const std::vector<NamedEvent>& events) {
  Detail::List list;
  for (const NamedEvent& named : events) {
    Detail::Record record;
    if (named.event.at_microbatch) {
      record.emplace_back("at_microbatch", std::int64_t{*named.event.at_microbatch});
    } else {
      record.emplace_back("at", format_seconds(named.event.at));
    }
    std::visit(KeysOf{named, record}, named.event.change);
    list.emplace_back(std::move(record));
  }
  return to_yaml({{"schema", "stagecraft/events/1"}, {"events", std::move(list)}});
}

}  // namespace stagecraft
