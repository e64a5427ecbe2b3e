// The scheduler extender's use-cases: which nodes can take a pod, which are best, and giving it its
// cards. Any thread may call; filter and prioritize read one view, bind goes through the keeper.
#pragma once

#include <chrono>
#include <map>
#include <vector>

#include "app/scheduler/keeper.hpp"
#include "app/scheduler/second_look.hpp"
#include "ports/clock.hpp"
#include "ports/kube_api.hpp"
#include "wire/extender_json.hpp"

namespace tessera {

class Scheduler {
  public:
    // All references outlive the scheduler.
    Scheduler(KubeApi& kube, Keeper& keeper, const Policy& policy, Clock& clock);

    // Every node of `args` is in exactly one list of the answer. Takes a moment longer when the pod
    // fits nowhere now (second_look.hpp). A pod whose Binding is not settled fits on its own node
    // alone.
    [[nodiscard]] FilterAnswer filter(const ExtenderArgs& args);
    // Parallel to args.names: 10 for the best of these nodes, 7 down to 0 for the others by price,
    // 0 for one that does not fit.
    [[nodiscard]] std::vector<int> prioritize(const ExtenderArgs& args) const;
    // Reserves, writes the one Binding, settles a lost answer. Safe to repeat.
    Result<> bind(const BindArgs& args);
    // Reads the pods whose Binding no watch event has shown for a while; frees what was never
    // bound. Called every few seconds by one thread.
    void settle_unconfirmed();

  private:
    Result<PodRequest> request_of(const BindArgs& args);
    Result<> write_binding(const BindArgs& args, const Reservation& reservation);
    Result<> settle(const BindArgs& args, const Reservation& reservation, const Error& cause);

    KubeApi& kube_;
    Keeper& keeper_;
    const Policy& policy_;
    Clock& clock_;
    SecondLook second_look_;
    // Of settle_unconfirmed's thread.
    std::map<std::pair<PodUid, int>, std::chrono::nanoseconds> unconfirmed_since_;  // by attempt
};

}  // namespace tessera
