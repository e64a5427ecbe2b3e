// The controller's part in the election of a leader; alone, it always leads.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "adapters/kube/kube_lease_store.hpp"
#include "app/scheduler/election.hpp"
#include "app/scheduler/feed.hpp"

namespace tessera {

// Of the Lease; both empty: there is no election.
struct LeaseName {
    std::string space;
    std::string name;
};
// Empty text, or NAMESPACE/NAME; the error names the row `lease`.
Result<LeaseName> read_lease_name(const std::string& text);

class Leadership {
  public:
    // `identity`: of this replica, no other that runs has it; empty: one that is made up. `url`:
    // where it answers.
    Leadership(const HttpEndpoint& api, Clock& clock, const LeaseName& lease,
               const std::string& identity, const std::string& url);

    Leadership(const Leadership&) = delete;
    Leadership& operator=(const Leadership&) = delete;

    // Null when there is no election.
    [[nodiscard]] const Election* election() const { return election_.get(); }
    // For SchedulerOptions::begin_write.
    [[nodiscard]] std::function<bool(std::chrono::nanoseconds)> fence() const;

    // `feed` outlives end().
    void begin(Feed& feed);
    // Gives the Lease back; nothing that writes may be under way.
    void end() { thread_ = {}; }

  private:
    std::unique_ptr<KubeLeaseStore> store_;
    std::shared_ptr<Election> election_;
    Feed* feed_ = nullptr;
    std::jthread thread_;
};

}  // namespace tessera
