// The people, controllers and other schedulers around: they create pods and delete them, gently and
// not, use names again, and go past Tessera.
#pragma once

#include <string>
#include <vector>

#include "testing/simulation/api_server.hpp"

namespace tessera::simulation {

class Users {
  public:
    // `cards` and `each` are of the largest node: every pod fits there.
    Users(Scene& scene, ApiServer& server, std::vector<NodeName> nodes, int cards, Bytes each);

    // Until told to stop: one more act every few seconds.
    void start();
    // No more pods; those that can never run are deleted, and those that ended.
    void clean_up();
    [[nodiscard]] std::uint64_t created() const { return static_cast<std::uint64_t>(next_uid_); }

  private:
    void act();
    void create(const PodName& name);
    void delete_one();
    void delete_by_force(const PodFacts& pod);
    void bind_past_everyone();
    [[nodiscard]] std::vector<ContainerSpec> draw_containers();
    PodPtr draw(bool bound);
    PodName draw_name();

    Scene& scene_;
    ApiServer& server_;
    const std::vector<NodeName> nodes_;
    const int cards_;
    const std::int64_t gib_;
    const std::int64_t pods_at_once_;
    int next_uid_ = 0;
    Process process_;
};

}  // namespace tessera::simulation
