#pragma once

#include "sim/analytic/class_cuts.hpp"
#include "sim/analytic/class_stages.hpp"

#include <cstddef>
#include <limits>
#include <vector>

namespace stagecraft {

/// Whether a plan of the class may take no longer than a time, by what each of its stages and cuts takes at least: the
/// node-aware dynamic program over stages from the first one on.
///
/// Stages that follow each other in one node are a *segment*, as long as its devices last; a stage with replicas on
/// several nodes is *spread*. A state is: the layers and devices so far, the devices of the segment that it ends with
/// or about how many replicas the spread stage has, and whether this stage divides its microbatches. Its value: the
/// least latency of a microbatch up to there and back, and up to there. What is charged at a cut behind a spread stage
/// grows with its replicas, so a class of these counts with its least.
class ClassSearch {
 public:
  /// Both must outlive it. `splits_backwards`: the halves for weights may run when all else is over, so nothing waits
  /// for the way back.
  ClassSearch(const ClassStages& stages, const ClassCuts& cuts, bool splits_backwards);

  struct Answer {
    bool may_exist = false;
    /// If there is none: the least time that the answer may change at; infinite if it never does.
    double next = std::numeric_limits<double>::infinity();
  };
  /// **Cost** O((layers · devices)² · devices of a node), of which most is not looked at for a time that is near the
  /// best one's.
  [[nodiscard]] Answer within(double time);

 private:
  /// In seconds.
  struct Latency {
    double both = std::numeric_limits<double>::infinity();
    double forward = std::numeric_limits<double>::infinity();
  };
  struct Place {
    std::size_t devices = 0;
    std::size_t at = 0;  ///< the devices of the segment - 1, or behind all of these the class of spread stages
    bool divides = false;
  };
  /// A stage that is added to the plan.
  struct Addition {
    std::size_t form = 0;
    std::size_t at = 0;
    double transfers = 0.0;  ///< over the cut before it, all together
    double there = 0.0;      ///< the first one
    double back = 0.0;       ///< the last one's gradient
  };

  [[nodiscard]] std::size_t places() const { return in_node_ + spread_.size(); }
  [[nodiscard]] Latency& state(std::size_t layers, const Place& place);
  [[nodiscard]] bool can_spread(std::size_t replicas) const { return replicas > 1 && !spread_.empty(); }
  [[nodiscard]] std::size_t spread_at(std::size_t replicas) const;
  void extend_first();
  void extend_all(std::size_t layers);
  void extend(std::size_t layers, const Place& from, const Latency& so_far);
  void leave_segment(std::size_t layers, const Place& from, std::size_t number, const Latency& so_far);
  void leave_spread(std::size_t layers, const Place& from, std::size_t number, const Latency& so_far);
  void add(std::size_t layers, const Place& from, const Addition& stage, const Latency& so_far);
  [[nodiscard]] Latency at_begin(std::size_t layers, std::size_t end, const Addition& stage,
                                 const Latency& so_far) const;
  [[nodiscard]] bool exceeds(double needed);

  const ClassStages& stages_;
  const ClassCuts& cuts_;
  bool splits_backwards_;
  std::size_t in_node_;
  std::vector<std::size_t> spread_;  ///< the least number of replicas of each class
  std::vector<Latency> states_;
  double time_ = 0.0;
  double next_ = 0.0;
  bool found_ = false;
};

}  // namespace stagecraft
