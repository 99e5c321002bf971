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

/// Rows of operations. Members of a group run the same from one date to another, so neighbours that do are one row.
class Rows {
 public:
  /// `waits`: the numbers of the operations that it waited for, in ascending order.
  void add(const TimelineEntry& entry, std::uint32_t its_class, Numbers waits) {
    if (!joins(entry, waits)) {
      close();
      first_ = &entry;
      waits_ = std::move(waits);
      moves_.assign(waits_.size(), false);
    }
    classes_.push_back(its_class);
  }

  /// Adds to `columns` what the page has of the rows, besides the critical path.
  void write(Detail::Record& columns, const Numbers& critical_path) {
    close();
    Detail::List sets(known_sets_.size());
    for (const auto& [classes, number] : known_sets_) {
      Detail::List set;
      for (const std::uint32_t each : classes) set.emplace_back(std::int64_t{each});
      sets[number] = std::move(set);
    }
    columns.emplace_back("sets", std::move(sets));
    columns.emplace_back("operations", Detail::Record{{"start_s", base64(starts_)},
                                                      {"end_s", base64(ends_)},
                                                      {"set", base64(sets_)},
                                                      {"microbatch", base64(microbatches_)},
                                                      {"aborted", base64(aborted_)}});
    columns.emplace_back(
        "waits",
        Detail::Record{{"begin", base64(begins_)}, {"on", base64(on_)}, {"critical_path", base64(critical_path)}});
  }

 private:
  /// Whether the operation is one more of the row: it waits for what the first one waits for, or for what is as many
  /// operations later as it is itself.
  bool joins(const TimelineEntry& entry, const Numbers& waits) {
    const auto behind = static_cast<std::uint32_t>(classes_.size());
    if (behind == 0 || waits.size() != waits_.size()) return false;
    if (entry.start != first_->start || entry.end != first_->end) return false;
    if (entry.microbatch != first_->microbatch || entry.aborted != first_->aborted) return false;
    std::vector<bool> moves;
    for (std::size_t i = 0; i < waits.size(); ++i) {
      moves.push_back(waits[i] != waits_[i]);
      if (moves[i] && waits[i] != waits_[i] + behind) return false;
    }
    if (behind > 1 && moves != moves_) return false;
    moves_ = std::move(moves);
    return true;
  }

  void close() {
    if (classes_.empty()) return;
    if (first_->aborted) aborted_.push_back(static_cast<std::uint32_t>(starts_.size()));
    starts_.push_back(first_->start.value());
    ends_.push_back(first_->end.value());
    sets_.push_back(known_sets_.try_emplace(classes_, static_cast<std::uint32_t>(known_sets_.size())).first->second);
    microbatches_.push_back(first_->microbatch);
    for (std::size_t i = 0; i < waits_.size(); ++i) on_.push_back(2 * waits_[i] + (moves_[i] ? 1 : 0));
    begins_.push_back(static_cast<std::uint32_t>(on_.size()));
    classes_.clear();
  }

  const TimelineEntry* first_ = nullptr;  ///< of the row that is open
  Numbers classes_;                       ///< of its operations
  Numbers waits_;                         ///< of its first operation
  std::vector<bool> moves_;               ///< whether each operation after it waits for one that is as much later
  std::map<Numbers, std::uint32_t> known_sets_;
  Amounts starts_;
  Amounts ends_;
  Numbers sets_;
  Numbers microbatches_;
  Numbers aborted_;
  Numbers begins_ = {0};
  Numbers on_;
};

class Columns {
 public:
  Columns(const RunRecord& record, const Platform& platform, bool crosses_links)
      : record_(record),
        platform_(platform),
        crosses_links_(crosses_links),
        tracks_(tracks_of(record.timeline, platform)),
        order_(in_order_of_starts(record.timeline)) {}

  Detail::Record all() {
    Rows rows;
    const Numbers path = add_operations(rows);
    Detail::Record columns{
        {"places", place_list()}, {"links", link_list()}, {"tracks", track_list()}, {"classes", std::move(classes_)}};
    rows.write(columns, path);
    columns.emplace_back("memory", memory_list());
    return columns;
  }

 private:
  /// **Returns** the critical path.
  Numbers add_operations(Rows& rows) {
    const Waits waits(record_, Waits::Of::DependenciesAndTurns);
    Numbers position(order_.size());
    for (std::uint32_t i = 0; i < order_.size(); ++i) position[order_[i]] = i;
    std::map<Shape, std::uint32_t> known;
    for (const std::uint32_t i : order_) {
      const TimelineEntry& entry = record_.timeline[i];
      const Shape shape(entry.kind, entry.stage, tracks_.of_entry[i], entry.from, entry.to, entry.leg, entry.bytes);
      const auto [found, is_new] = known.try_emplace(shape, static_cast<std::uint32_t>(known.size()));
      if (is_new) classes_.push_back(class_record(entry, tracks_.of_entry[i]));
      Numbers on;
      for (const std::uint32_t earlier : waits.of(i)) on.push_back(position[earlier]);
      std::ranges::sort(on);
      rows.add(entry, found->second, std::move(on));
    }
    Numbers path = waits.critical_path();
    for (std::uint32_t& i : path) i = position[i];
    return path;
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

  /// The changes of what places hold, once for those that hold the same at all times.
  [[nodiscard]] Detail::List memory_list() const {
    struct Changes {
      Amounts at;
      Numbers category;
      Amounts bytes;
      auto operator<=>(const Changes&) const = default;
    };
    std::map<PlaceId, Changes> places;
    for (const MemoryChange& change : record_.memory) {
      Changes& changes = places[change.place];
      changes.at.push_back(change.at.value());
      changes.category.push_back(static_cast<std::uint32_t>(change.category));
      changes.bytes.push_back(static_cast<double>(change.bytes.value()));
    }
    std::map<Changes, Detail::List> holders;
    for (auto& [place, changes] : places) holders[std::move(changes)].emplace_back(std::int64_t{place.value()});
    Detail::List list;
    for (const auto& [changes, its_places] : holders) {
      list.emplace_back(Detail::Record{{"places", its_places},
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
