// The invariants about time, which are checked every simulated second and at the end:
//  3. A pod that the watch has not shown as bound is reconciled within kReservation of the last
//     attempt, without the time in which the API server is silent.
//  4. When all pods are gone, the controller shows all GPUs as free and knows no pod.
//  5. After the faults have stopped, a pod that fits is bound within kWait, and all pods run and
//     end within kDrain.
//     GPUs are reserved for a pending pod on one node for no longer than kReserved.
//  6. A container that started without the agent is killed when the runtime is connected again.
//  8. A reservation ahead of a pod's turn ends within kAhead, unless the filter offers its node.
#pragma once

#include <map>
#include <tuple>

#include "testing/simulation/cluster.hpp"

namespace tessera::simulation {

class InvariantChecker {
  public:
    static constexpr Time kReservation = 240s;
    static constexpr Time kWait = 330s;  // kube-scheduler may leave a pod unscheduled for 300 s
    // Nominator::kUnasked, and the longest rounds of the nominator.
    static constexpr Time kAhead = 200s;
    static constexpr Time kReserved = 400s;
    static constexpr Time kDrain = 3'600s;

    explicit InvariantChecker(Cluster& cluster) : cluster_(cluster) {}

    void look();
    void check_waiting();
    void check_all_free();

  private:
    void broken(const std::string& text);
    void check_free(Controller& controller);
    void check_reservations();
    void check_unguarded();
    void check_nominees();
    void check_node(const NodeInfo& node, const Machine& machine);

    Cluster& cluster_;
    // A controller's lifetime, a pod, and the attempt: kube-scheduler may repeat attempts forever.
    using ReservedBy = std::tuple<int, PodUid, int>;

    std::map<ReservedBy, Time> reserved_since_;
    Time last_look_{};
    std::map<PodUid, Time> fits_since_;
    // A controller's lifetime, the pod, the node, and whether it is ahead of its turn.
    using NomineeKey = std::tuple<int, PodUid, NodeName, bool>;

    std::map<NomineeKey, Time> nominated_since_;
};

}  // namespace tessera::simulation
