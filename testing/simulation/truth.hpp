// What is true of the cards, whoever believes what, and the promises about it:
//  1. The pods that the API server shows bound and not finished were given no more of any card than
//     it has. A pod that is told to terminate counts until it is gone.
//  2. A container that the agent completed has the cards that its pod was given, in the same
//     amounts, and with it those of such pods hold no more of a card than it has.
// A ghost, which is a container whose pod was deleted by force, counts in neither: the API says
// that it is gone, and nobody can know better. It may even start after that, where kubelet has not
// heard of it. How often either happened is counted.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "testing/simulation/api_server.hpp"
#include "testing/simulation/machine.hpp"

namespace tessera::simulation {

class Truth {
  public:
    Truth(Scene& scene, ApiServer& server);

    void add(Machine& machine);
    // Before the container is among the machine's.
    void check_start(const Machine& machine, const Container& container, bool by_agent);
    [[nodiscard]] std::uint64_t ghosts_met() const { return ghosts_met_; }
    [[nodiscard]] std::uint64_t ghosts_started() const { return ghosts_started_; }
    [[nodiscard]] std::uint64_t bound() const { return given_.size(); }
    [[nodiscard]] std::uint64_t started() const { return started_; }

  private:
    void take(const Change<PodObject>& change);
    void free(const PodUid& uid);
    void check_room(const Machine& machine, const Container& container,
                    const std::function<void(const std::string&)>& wrong);

    Scene& scene_;
    ApiServer& server_;
    std::map<GpuUuid, Bytes> capacity_;
    std::map<GpuUuid, Bytes> granted_;
    std::map<PodUid, std::vector<Hold>> holding_;
    std::map<PodUid, Allocation> given_;  // for ever
    std::uint64_t ghosts_met_ = 0;
    std::uint64_t ghosts_started_ = 0;
    std::uint64_t started_ = 0;
};

}  // namespace tessera::simulation
