#include "sim/model/observation.hpp"

namespace stagecraft {
namespace {

void add_to(StageObservation& sum, const StageObservation& later) {
  sum.forwards += later.forwards;
  sum.backwards += later.backwards;
  sum.forward_time += later.forward_time;
  sum.backward_time += later.backward_time;
  sum.pairs += later.pairs;
  sum.pair_time += later.pair_time;
}

void add_to(DeviceObservation& sum, const DeviceObservation& later) {
  sum.nominal += later.nominal;
  sum.measured += later.measured;
}

template <class Id, class Value>
void add_all(IndexVector<Id, Value>& sums, const IndexVector<Id, Value>& later) {
  if (sums.size() < later.size()) sums.resize(later.size());
  for (Id id : indices(later)) add_to(sums[id], later[id]);
}

}  // namespace

void Observation::add(const Observation& later) {
  now = later.now;
  microbatches_injected = later.microbatches_injected;
  add_all(stages, later.stages);
  add_all(devices, later.devices);
  links = later.links;
  memories = later.memories;
  down = later.down;
  leaving = later.leaving;
  unfinished = later.unfinished;
  giving = later.giving;
}

}  // namespace stagecraft
