#pragma once

#include "planners/planner.hpp"
#include "planners/shared/costs/crossings.hpp"
#include "planners/shared/savings/layer_units.hpp"
#include "planners/shared/savings/saving.hpp"
#include "planners/shared/savings/unit_table.hpp"
#include "sim/model/run_sums.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace stagecraft {

/// The place of a stage in a pipeline: its devices, one for each replica, and what the schedule keeps on each. Figures
/// are those of the slowest or smallest replica.
struct StagePlace {
  std::vector<DeviceId> devices;
  double factor = 1.0;               ///< of the profile's times
  std::int64_t in_flight = 1;        ///< microbatches on a replica, at most
  bool forwards_first = false;       ///< all forwards of an iteration run before the first backward
  std::int64_t weight_versions = 1;  ///< copies of the weights
  Bytes capacity;
  /// Of a replica to that of the next stage and back, the smaller one, while all replicas send; 0 behind the last
  /// stage.
  BytesPerSecond bandwidth{0.0};
  double host_bandwidth = 0.0;  ///< bytes per second to and from the host's memory; 0: nothing can be swapped
  bool half_duplex = false;     ///< both directions share it
  std::int64_t resident = 1;    ///< of the microbatches in flight: those with a swapped unit on the device
  /// Bytes of a microbatch that cross its part of the host links in one direction, between stages; `share_host_links`.
  Bytes boundary_traffic{0};
};

/// How many earlier microbatches may have copies to the host left to make when a forward of the stage starts, if it
/// swaps (`Stage::swap_backlog`). Where forwards and backwards alternate, a copy is hidden behind a forward and a
/// backward with 1, and with 0 behind the backward alone, but one stash less is on the device; 1 saves more where many
/// are in flight. Where all forwards come first, 0 would hide no copy to the host.
[[nodiscard]] std::int64_t swap_backlog(const StagePlace& place);

/// The most microbatches with a swapped unit on the device then: those that leave, and one that runs and one that comes
/// back; where forwards and backwards alternate one in use, too.
[[nodiscard]] std::int64_t resident_swaps(const StagePlace& place);

/// The part of a microbatch's computation in units with these times behind which no copy is hidden then: the forward
/// with a backlog of 0, and where all forwards come first the backward, since copies to the host wait for forwards
/// only.
[[nodiscard]] Seconds unhidden_time(const StagePlace& place, const std::vector<SavingUnit>& units);

/// The places of a pipeline whose stages have these devices. The counts are those that the schedule compiles for a plan
/// of so many stages. Devices that share a link to host memory get equal parts of it.
/// **Requires** no more stages than layers, and as many devices of each. **Throws** InputError if a device's speed is
/// not known, or if the schedule refuses such a plan, places its stages in another way, or keeps microbatches in flight
/// in a number that depends on times; or if neighbours are not connected.
[[nodiscard]] std::vector<StagePlace> stage_places(const PlannerInfo& planner, const PlanRequest& request,
                                                   const std::vector<std::vector<DeviceId>>& devices);

/// The places of the stages of any plan, without `bandwidth`. Devices that share a link to host memory get equal parts
/// of it. `program`: of the plan. **Throws** InputError if a device's speed is not known.
[[nodiscard]] std::vector<StagePlace> places_of(const PlanRequest& request, const Plan& plan,
                                                const ScheduleProgram& program);

/// Gives the links to host memory to those places that swap, in equal parts on each link; the others swap nothing.
/// Finds what the plan's stages exchange over these links, which goes first. **Shape** `swap` by place.
void share_host_links(const PlanRequest& request, const Plan& plan, const std::vector<char>& swap,
                      std::vector<StagePlace>& places);

/// The platform with what one of the places that swap gets of each link to host memory if all of them swap at once: an
/// equal part. **Shape** `swap` by place.
[[nodiscard]] Platform with_shared_host_links(const Platform& platform, const std::vector<StagePlace>& places,
                                              const std::vector<char>& swap);

/// The rounds of `replicas` microbatches whose gradients an asynchronous plan sums up for an update; 1 if the samples
/// that are asked for are no multiple of a round's, or if the schedule flushes.
[[nodiscard]] std::int64_t rounds_per_update(const PlanRequest& request, std::size_t replicas);

struct SavingPipelineSettings {
  UnitGrain cuts = UnitGrain::Layers;  ///< stages are made of these units
  /// Actions are chosen for these, or for the parts of them that a stage has.
  UnitGrain actions = UnitGrain::Layers;
  std::int64_t resident = 0;  ///< of every place, unless fewer microbatches are in flight; 0: `resident_swaps`
  bool swaps = true;          ///< whether anything may be swapped
  /// Runs of these units may be recomputed as one segment; as coarse as `actions` or coarser. None: each unit of
  /// `actions` is recomputed by itself.
  std::optional<UnitGrain> segments = {};
};

/// A model and a platform as planners see them that cut a model into stages with the same number of replicas, and save
/// memory in each stage. Cuts are positions in the list of units.
class SavingPipeline {
 public:
  /// The stages are those of `stage_devices`. The planner and the request must outlive it.
  /// **Throws** InputError as `stage_devices` and `stage_places`. **Cost** O(layers log layers + edges) and that of
  /// compiling the schedule; memory for each cut and tensor that crosses it.
  SavingPipeline(const PlannerInfo& planner, const PlanRequest& request, const SavingPipelineSettings& settings);

  [[nodiscard]] std::size_t units() const { return bounds_.size() - 1; }
  [[nodiscard]] std::size_t stages() const { return places_.size(); }
  [[nodiscard]] const std::vector<StagePlace>& places() const { return places_; }
  [[nodiscard]] std::vector<StagePlace>& places() { return places_; }  ///< whose budget and host bandwidth may change
  [[nodiscard]] const PlanRequest& request() const { return request_; }

  // Figures of all units before a cut, on the profile's device, and of the cut itself.
  [[nodiscard]] Seconds compute(std::size_t cut) const { return compute_[bounds_[cut]]; }  ///< forward and backward
  /// Of the units [begin, end).
  [[nodiscard]] Bytes parameters(std::size_t begin, std::size_t end) const {
    return parameters_(bounds_[begin], bounds_[end]);
  }
  [[nodiscard]] Bytes stash(std::size_t cut) const { return stash_(0, bounds_[cut]); }
  /// Of the tensors that are made before the cut and used behind it.
  [[nodiscard]] Bytes cut_bytes(std::size_t cut) const { return cut_bytes_[bounds_[cut]]; }
  /// The time of these bytes from stage `before` to the next one.
  [[nodiscard]] Seconds transfer(std::size_t cut, std::size_t before) const;

  /// Stage `stage` if it has the units [begin, end). The pipeline must outlive its segments. In a chain its memory is
  /// exact. In other graphs it is an estimate: a tensor that several units need counts at the last of them that keeps
  /// it, and one that several later stages need is taken to be sent once.
  /// **Cost** O(layers and edges of the stage, and their tensors).
  [[nodiscard]] SavingStage stage(std::size_t stage, std::size_t begin, std::size_t end) const;

  /// Whether runs of coarser units than those of `stage` may be segments.
  [[nodiscard]] bool has_coarse_segments() const { return segment_units_ && segment_units_ != action_units_; }
  /// The same stage with these units. **Requires** that there are any. **Cost** as above.
  [[nodiscard]] SavingStage coarse_stage(std::size_t stage, std::size_t begin, std::size_t end) const;
  /// What that saves, with the actions of the units of `stage`.
  [[nodiscard]] StageSaving refined(StageSaving coarse, std::size_t begin, std::size_t end) const;

  /// The cuts of a plan whose stages are whole units, on the devices of these places; none for another plan.
  [[nodiscard]] std::optional<std::vector<std::size_t>> cuts_of(const Plan& plan) const;

  /// A plan of the stages between the cuts (0 and `units()` among them), with the actions of each stage's units.
  [[nodiscard]] Plan plan(std::span<const std::size_t> cuts, std::span<const StageSaving> savings) const;

 private:
  [[nodiscard]] UnitTable::Run layers(std::size_t begin, std::size_t end) const {
    return {bounds_[begin], bounds_[end]};
  }
  [[nodiscard]] SavingStage stage_with(UnitTable& units, std::size_t stage, std::size_t begin, std::size_t end) const;
  [[nodiscard]] Bytes exchanged(const UnitTable::Run& stage) const;

  const PlannerInfo& planner_;
  const PlanRequest& request_;
  std::vector<LayerId> order_;
  std::vector<std::size_t> bounds_;  // of units, as positions in the order
  std::shared_ptr<UnitTable> action_units_;
  std::shared_ptr<UnitTable> segment_units_;  // which are found when they are asked for; none: no segments
  std::vector<StagePlace> places_;
  std::vector<Seconds> compute_;  // of the layers before
  RunSums parameters_;
  RunSums experts_;  ///< the part of these that an expert group divides
  std::vector<Bytes> cut_bytes_;
  RunSums stash_;
  Crossings crossings_;
  std::vector<std::vector<std::size_t>> pending_;  // by cut: the layers before it whose tensors are used behind it
  std::int64_t boundary_buffers_ = 0;
};

}  // namespace stagecraft
