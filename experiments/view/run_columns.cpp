#include "experiments/view/run_columns.hpp"

#include "experiments/view/tracks.hpp"
#include "experiments/view/waits.hpp"
#include "sim/base/base64.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

static_assert(std::endian::native == std::endian::little, "pages hold numbers as they are in memory");

using Numbers = std::vector<std::uint32_t>;
using Amounts = std::vector<double>;

Detail number_or_null(std::uint32_t number, std::uint32_t none) {
  return number == none ? Detail() : Detail(std::int64_t{number});
}

Detail::List number_list(const std::vector<LinkId>& links) {
  Detail::List list;
  for (const LinkId link : links) list.emplace_back(std::int64_t{link.value()});
  return list;
}

/// What operations may have in common.
using Shape = std::tuple<OpKind, StageId, std::uint32_t, PlaceId, PlaceId, Leg, Bytes>;

class Columns {
 public:
  Columns(const RunRecord& record, const Platform& platform, bool crosses_links)
      : record_(record),
        platform_(platform),
        crosses_links_(crosses_links),
        tracks_(tracks_of(record.timeline, platform)),
        order_(in_order_of_starts(record.timeline)) {}

  Detail::Record all() {
    Detail::Record operations = operation_columns();
    return {{"places", place_list()},
            {"links", link_list()},
            {"tracks", track_list()},
            {"classes", std::move(classes_)},
            {"operations", std::move(operations)},
            {"waits", wait_columns()},
            {"memory", memory_list()}};
  }

 private:
  Detail::Record operation_columns() {
    Amounts starts;
    Amounts ends;
    Numbers classes;
    Numbers microbatches;
    Numbers aborted;
    std::map<Shape, std::uint32_t> known;
    for (const std::uint32_t i : order_) {
      const TimelineEntry& entry = record_.timeline[i];
      const Shape shape(entry.kind, entry.stage, tracks_.of_entry[i], entry.from, entry.to, entry.leg, entry.bytes);
      const auto [found, is_new] = known.try_emplace(shape, static_cast<std::uint32_t>(known.size()));
      if (is_new) classes_.push_back(class_record(entry, tracks_.of_entry[i]));
      if (entry.aborted) aborted.push_back(static_cast<std::uint32_t>(starts.size()));
      starts.push_back(entry.start.value());
      ends.push_back(entry.end.value());
      classes.push_back(found->second);
      microbatches.push_back(entry.microbatch);
    }
    return {{"start_s", base64(starts)},
            {"end_s", base64(ends)},
            {"class", base64(classes)},
            {"microbatch", base64(microbatches)},
            {"aborted", base64(aborted)}};
  }

  Detail class_record(const TimelineEntry& entry, std::uint32_t track) {
    const auto [from, to] = ends_of(platform_, entry.from, entry.to, entry.leg);
    Route route;
    const bool is_routed = crosses_links_ && is_transfer(entry.kind) && entry.bytes > Bytes(0) &&
                           find_route(platform_, entry.from, entry.to, entry.leg, route);
    return Detail::Record{{"op", to_string(entry.kind)},
                          {"stage", entry.stage.is_none() ? Detail() : Detail(std::int64_t{entry.stage.value()})},
                          {"track", number_or_null(track, Tracks::kNone)},
                          {"from", from.is_none() ? Detail() : Detail(std::int64_t{from.value()})},
                          {"to", to.is_none() ? Detail() : Detail(std::int64_t{to.value()})},
                          {"bytes", entry.bytes.value()},
                          {"links", is_routed ? number_list(route.links) : Detail::List{}}};
  }

  [[nodiscard]] Detail::List place_list() const {
    Detail::List list;
    for (std::uint32_t i = 0; i < platform_.place_count(); ++i) {
      const PlaceId place(i);
      const bool is_device = platform_.is_device(place);
      const NodeId node = is_device ? platform_.devices[platform_.device(place)].node : NodeId();
      list.emplace_back(Detail::Record{{"name", platform_.place_name(place)},
                                       {"is_device", is_device},
                                       {"node", node.is_none() ? Detail() : Detail(std::int64_t{node.value()})}});
    }
    return list;
  }

  [[nodiscard]] Detail::List link_list() const {
    Detail::List list;
    for (const Link& link : platform_.links) {
      list.emplace_back(Detail::Record{{"name", link.name}, {"bandwidth", link.bandwidth.value()}});
    }
    return list;
  }

  [[nodiscard]] Detail::List track_list() const {
    Detail::List list;
    for (const Track& track : tracks_.tracks) {
      list.emplace_back(Detail::Record{{"place", std::int64_t{track.place.value()}},
                                       {"name", name_of(track)},
                                       {"computes", is_compute(track.kind)}});
    }
    return list;
  }

  [[nodiscard]] Detail::Record wait_columns() const {
    const Waits waits(record_, Waits::Of::DependenciesAndTurns);
    Numbers position(order_.size());
    for (std::uint32_t i = 0; i < order_.size(); ++i) position[order_[i]] = i;
    Numbers begins{0};
    Numbers on;
    for (const std::uint32_t i : order_) {
      for (const std::uint32_t earlier : waits.of(i)) on.push_back(position[earlier]);
      begins.push_back(static_cast<std::uint32_t>(on.size()));
    }
    Numbers path = waits.critical_path();
    for (std::uint32_t& i : path) i = position[i];
    return {{"begin", base64(begins)}, {"on", base64(on)}, {"critical_path", base64(path)}};
  }

  /// For each place the changes of what it holds.
  [[nodiscard]] Detail::List memory_list() const {
    struct Changes {
      Amounts at;
      Numbers category;
      Amounts bytes;
    };
    std::map<PlaceId, Changes> places;
    for (const MemoryChange& change : record_.memory) {
      Changes& changes = places[change.place];
      changes.at.push_back(change.at.value());
      changes.category.push_back(static_cast<std::uint32_t>(change.category));
      changes.bytes.push_back(static_cast<double>(change.bytes.value()));
    }
    Detail::List list;
    for (const auto& [place, changes] : places) {
      list.emplace_back(Detail::Record{{"place", std::int64_t{place.value()}},
                                       {"at_s", base64(changes.at)},
                                       {"category", base64(changes.category)},
                                       {"bytes", base64(changes.bytes)}});
    }
    return list;
  }

  const RunRecord& record_;
  const Platform& platform_;
  bool crosses_links_;
  Tracks tracks_;
  Numbers order_;  ///< of the operations in the page: their positions in the timeline
  Detail::List classes_;
};

}  // namespace

Detail::Record run_columns(const RunRecord& record, const std::vector<RunMark>& marks, const Platform& platform,
                           bool crosses_links) {
  Detail::Record columns = Columns(record, platform, crosses_links).all();
  Detail::List list;
  for (const RunMark& mark : marks) {
    list.emplace_back(Detail::Record{{"at_s", mark.at.value()}, {"name", mark.name}, {"is_end", mark.is_end}});
  }
  columns.emplace_back("marks", std::move(list));
  return columns;
}

}  // namespace stagecraft
