// Users, workload controllers and other schedulers: they create pods, delete them gracefully or by
// force, reuse names, and bypass Tessera.
#pragma once

#include <string>
#include <vector>

#include "testing/simulation/api_server.hpp"

namespace tessera::simulation {

class Users {
  public:
    // `gpus` and `each`: the GPUs of the first node, on which every pod fits.
    Users(Scene& scene, ApiServer& server, std::vector<NodeName> nodes, int gpus, Bytes each);

    // Acts repeatedly while faults may strike.
    void start();
    // Deletes pods that can never run, and finished pods.
    void clean_up();
    [[nodiscard]] std::uint64_t created() const { return static_cast<std::uint64_t>(next_uid_); }

  private:
    void act();
    void create(const PodName& name);
    void delete_one();
    void delete_by_force(const PodInfo& pod);
    void bind_past_everyone();
    void nominate_past_everyone();
    [[nodiscard]] std::vector<ContainerSpec> draw_containers();
    [[nodiscard]] std::vector<ContainerSpec> draw_mps_container();
    PodPtr draw(bool bound);
    PodName draw_name();

    Scene& scene_;
    ApiServer& server_;
    const std::vector<NodeName> nodes_;
    const int gpus_;
    const std::int64_t gib_;
    const std::int64_t pods_at_once_;
    const SchedulingRulesPtr scheduling_ = std::make_shared<const SchedulingRules>(
        SchedulingRules{.scheduler = std::string(kSchedulerName), .nodes = {}});
    int next_uid_ = 0;
    Process process_;
};

}  // namespace tessera::simulation
