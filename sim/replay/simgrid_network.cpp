#include "sim/replay/simgrid_network.hpp"

#include "sim/base/error.hpp"
#include "sim/base/lasting_state.hpp"
#include "sim/replay/simgrid_compat.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

namespace s4u = simgrid::s4u;
namespace kernel = simgrid::kernel;

/// A zone without routes of its own. Before a communication is started, the caller sets the links that it crosses.
class GivenRouteZone final : public kernel::routing::NetZoneImpl {
 public:
  explicit GivenRouteZone(const std::string& name) : NetZoneImpl(name) {}

  /// The route of the next communication.
  std::vector<kernel::resource::StandardLinkImpl*>& next_route() { return next_route_; }

 private:
  // SimGrid weights flows by the latencies of their routes. With the same latency for all, the weights are equal. The
  // configuration multiplies latencies by zero, so no flow waits for it.
  void get_local_route(const kernel::routing::NetPoint*, const kernel::routing::NetPoint*, kernel::routing::Route* into,
                       double* latency) override {
    into->link_list_.insert(into->link_list_.end(), next_route_.begin(), next_route_.end());
    if (latency != nullptr) *latency += 1.0;
  }
  void add_route(kernel::routing::NetPoint*, kernel::routing::NetPoint*, kernel::routing::NetPoint*,
                 kernel::routing::NetPoint*, const std::vector<s4u::LinkInRoute>&, bool) override {
    throw std::logic_error("this zone is given its routes");
  }
  void get_graph(const s_xbt_graph_t*, std::map<std::string, xbt_node_t, std::less<>>*,
                 std::map<std::string, xbt_edge_t, std::less<>>*) override {}

  std::vector<kernel::resource::StandardLinkImpl*> next_route_;
};

std::unique_ptr<s4u::Engine> make_engine(bool is_dense) {
  static bool is_made = false;
  STAGECRAFT_CHECK(!is_made, "one SimGrid engine in the life of a process");
  is_made = true;
  leave_lasting_state();
  auto engine = std::make_unique<s4u::Engine>(std::string("stagecraft"));
  xbt_log_control_set("root.thresh:warning");
  s4u::Engine::set_config("network/model:CM02");
  s4u::Engine::set_config("network/latency-factor:0");
  s4u::Engine::set_config("network/crosstraffic:no");
  s4u::Engine::set_config("network/TCP-gamma:1e30");
  s4u::Engine::set_config(simgrid_compat::kTimingPrecision);
  if (is_dense) s4u::Engine::set_config("network/optim:Full");
  return engine;
}

kernel::resource::Model* network_model(const s4u::Engine& engine) {
  for (kernel::resource::Model* model : engine.get_all_models()) {
    if (model->get_name() == "Network_CM02") return model;
  }
  throw InternalError("SimGrid has no network model CM02");
}

}  // namespace

class FlowNetwork::World {
 public:
  World(NetworkListener& listener, bool is_dense)
      : listener_(listener),
        engine_(make_engine(is_dense)),
        zone_(new GivenRouteZone("zone")),   // NOLINT(cppcoreguidelines-owning-memory): the engine's root
        yard_(new GivenRouteZone("yard")) {  // NOLINT(cppcoreguidelines-owning-memory): lasts like its links
    s4u::NetZone* zone = simgrid_compat::interface_of(*zone_);
    source_ = zone->create_host("source", 1.0);
    target_ = zone->create_host("target", 1.0);
    source_->seal();
    target_->seal();
    zone->seal();
    yard_->set_network_model(zone_->get_network_model());
    model_ = network_model(*engine_);
    simgrid_compat::on_completion([this](const s4u::Activity& activity) { completed(activity); });
  }

  [[nodiscard]] bool knows(std::uint32_t link) const { return link < links_.size() && links_[link] != nullptr; }

  void add_link(std::uint32_t number, double bandwidth) {
    if (number >= links_.size()) links_.resize(number + 1);
    if (number >= link_impls_.size()) link_impls_.resize(number + 1);
    links_[number] = simgrid_compat::interface_of(*yard_)->create_link(std::to_string(number), bandwidth);
    links_[number]->seal();
    link_impls_[number] = links_[number]->get_impl();
  }

  void set_alarm(double at) {
    simgrid_compat::set_timer(std::max(at, s4u::Engine::get_clock()), [this] { listener_.on_alarm(); });
  }

  std::uint32_t start(std::span<const std::uint32_t> route, double bytes) {
    const std::uint32_t number = take_number();
    Flow& flow = flows_[number];
    zone_->next_route().clear();
    for (std::uint32_t link : route) zone_->next_route().push_back(link_impls_[link]);
    flow.comm = s4u::Comm::sendto_init();
    flow.comm->set_payload_size(static_cast<std::uint64_t>(std::ceil(bytes)));
    flow.comm->set_data(tag(number, flow.generation));
    flow.comm->set_source(source_);
    flow.comm->set_destination(target_);  // which starts it
    flow.links.assign(route.begin(), route.end());
    flow.action = &model_->get_started_action_set()->back();
    flow.action->set_remains(bytes);  // a payload has no fraction
    return number;
  }

  // A Comm can be suspended only once, because its `resume` does not undo its mark. An Action has no such mark.
  void suspend(std::uint32_t flow) {
    flows_[flow].action->suspend();
    reconsider_links(flows_[flow]);
  }
  void resume(std::uint32_t flow) {
    flows_[flow].action->resume();
    reconsider_links(flows_[flow]);
  }

  void cancel(std::uint32_t number) {
    cancelled_.push_back(release(number));
    is_cancelling_ = true;
    cancelled_.back()->cancel();
    is_cancelling_ = false;
  }

  void set_bandwidth(std::uint32_t link, double bandwidth) {
    links_[link]->set_bandwidth(bandwidth);
    // SimGrid bounds a flow by the bandwidth that its narrowest link had at its start. From now on only links bound it.
    for (kernel::resource::Action& action : *model_->get_started_action_set()) action.set_bound(-1.0);
  }

  [[nodiscard]] bool is_empty() const { return free_.size() == flows_.size(); }
  [[nodiscard]] bool has_unreported() const { return !model_->get_finished_action_set()->empty(); }
  void run() { engine_->run(); }

 private:
  struct Flow {
    s4u::CommPtr comm;
    kernel::resource::Action* action = nullptr;
    std::vector<std::uint32_t> links;
    std::uint32_t generation = 0;  ///< of the number, because SimGrid also reports a cancelled flow
  };

  /// Makes SimGrid compute the rates on all links of the flow anew. When a flow is suspended or resumed, SimGrid looks
  /// at the first link only, and not even at that if it already has to: the flows on the others kept their rates.
  void reconsider_links(const Flow& flow) {
    for (std::uint32_t link : flow.links) links_[link]->set_bandwidth(links_[link]->get_bandwidth());
  }

  static void* tag(std::uint32_t number, std::uint32_t generation) {
    return reinterpret_cast<void*>((std::uintptr_t{generation} << 32) | number);  // NOLINT: SimGrid's data is a pointer
  }

  std::uint32_t take_number() {
    if (free_.empty()) {
      flows_.emplace_back();
      return static_cast<std::uint32_t>(flows_.size() - 1);
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    return number;
  }

  s4u::CommPtr release(std::uint32_t number) {
    ++flows_[number].generation;
    free_.push_back(number);
    return std::move(flows_[number].comm);
  }

  void completed(const s4u::Activity& activity) {
    const auto data = reinterpret_cast<std::uintptr_t>(activity.get_data<void>());  // NOLINT: what `tag` made
    const auto number = static_cast<std::uint32_t>(data);
    if (flows_[number].generation == static_cast<std::uint32_t>(data >> 32)) {
      ended_ = release(number);  // lives until this call has returned to SimGrid
      listener_.on_flow_end(number);
    }
    if (!is_cancelling_ && !has_unreported()) listener_.on_settled();
  }

  NetworkListener& listener_;
  std::unique_ptr<s4u::Engine> engine_;
  GivenRouteZone* zone_;
  GivenRouteZone* yard_;  ///< a zone that is never sealed, so that links can be added while the engine runs
  kernel::resource::Model* model_ = nullptr;
  s4u::Host* source_ = nullptr;
  s4u::Host* target_ = nullptr;
  std::vector<s4u::Link*> links_;
  std::vector<kernel::resource::StandardLinkImpl*> link_impls_;  ///< of `links_`: asking costs a cast each time
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> free_;
  s4u::CommPtr ended_;
  std::vector<s4u::CommPtr> cancelled_;
  bool is_cancelling_ = false;
};

FlowNetwork::FlowNetwork(NetworkListener& listener, bool may_start) : listener_(listener), may_start_(may_start) {}

FlowNetwork::World& FlowNetwork::world() {
  if (world_ == nullptr && !may_start_) throw EngineNeeded();
  if (world_ == nullptr)
    world_ = new World(listener_, is_dense_);  // NOLINT(cppcoreguidelines-owning-memory): see `world_`
  return *world_;
}

std::uint32_t FlowNetwork::add_link(BytesPerSecond bandwidth) {
  bandwidths_.push_back(bandwidth);
  return static_cast<std::uint32_t>(bandwidths_.size() - 1);
}
Seconds FlowNetwork::now() const { return Seconds(world_ == nullptr ? 0.0 : s4u::Engine::get_clock()); }
void FlowNetwork::set_alarm(Seconds at) { world().set_alarm(at.value()); }
std::uint32_t FlowNetwork::start(std::span<const std::uint32_t> links, double bytes) {
  for (std::uint32_t link : links) {
    if (!world().knows(link)) world().add_link(link, bandwidths_[link].value());
  }
  return world().start(links, bytes);
}
void FlowNetwork::suspend(std::uint32_t flow) { world().suspend(flow); }
void FlowNetwork::resume(std::uint32_t flow) { world().resume(flow); }
void FlowNetwork::cancel(std::uint32_t flow) { world().cancel(flow); }
void FlowNetwork::set_bandwidth(std::uint32_t link, BytesPerSecond bandwidth) {
  bandwidths_[link] = bandwidth;
  if (world_ != nullptr && world_->knows(link)) world_->set_bandwidth(link, bandwidth.value());
}
bool FlowNetwork::is_empty() const { return world_ == nullptr || world_->is_empty(); }
bool FlowNetwork::has_unreported() const { return world_ != nullptr && world_->has_unreported(); }
void FlowNetwork::run() {
  if (world_ != nullptr) world_->run();
}

}  // namespace stagecraft
