// The promises that have to do with time, looked at every simulated second, and at the end:
//  3. A reservation that the watch has not shown bound is settled within kReservation
//     of the last attempt.
//  4. When all pods are gone, the controller shows all cards free and knows of no pod.
//  5. Once the faults have stopped, a pod that fits is bound within kWait, and all pods run and end
//     within kDrain.
//  And: a container that started without the agent is ended when the runtime is linked again.
#pragma once

#include <map>
#include <tuple>

#include "testing/simulation/cluster.hpp"

namespace tessera::simulation {

class Watchman {
  public:
    static constexpr Time kReservation = 240s;
    static constexpr Time kWait = 330s;  // kube-scheduler itself lets a pod rest for 300 s
    static constexpr Time kDrain = 3'600s;

    explicit Watchman(Cluster& cluster) : cluster_(cluster) {}

    void look();
    void check_waiting();
    void check_all_free();

  private:
    void broken(const std::string& text);
    void check_free(Controller& controller);
    void check_reservations();
    void check_unguarded();
    void check_node(const NodeView& node, const Machine& machine);

    Cluster& cluster_;
    // A controller's life, a pod, and the attempt: kube-scheduler may make a new one for ever.
    using ReservedBy = std::tuple<int, PodUid, int>;

    std::map<ReservedBy, Time> reserved_since_;
    std::map<PodUid, Time> fits_since_;
};

}  // namespace tessera::simulation
