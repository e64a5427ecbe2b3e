// The controller's leader election. Without a Lease, the controller always leads.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "adapters/kube/kube_lease_store.hpp"
#include "app/scheduler/informers/informers.hpp"
#include "app/scheduler/leader/election.hpp"
#include "app/scheduler/leader/write_fence.hpp"

namespace tessera {

// Name of the Lease; both empty: no election.
struct LeaseName {
    std::string ns;
    std::string name;
};
// Parses an empty text or NAMESPACE/NAME. The error names the row `lease`.
Result<LeaseName> read_lease_name(const std::string& text);

class Leadership {
  public:
    // `identity` of this replica is unique among those that run; empty: one is generated. `url`:
    // where this replica answers.
    Leadership(HttpClient& api, Clock& clock, const LeaseName& lease, const std::string& identity,
               const std::string& url);

    Leadership(const Leadership&) = delete;
    Leadership& operator=(const Leadership&) = delete;

    // Null if there is no election.
    [[nodiscard]] const Election* election() const { return election_.get(); }
    [[nodiscard]] WriteFence fence() const;

    // `informers` outlives end().
    void begin(Informers& informers);
    // Releases the Lease. No write may be in progress.
    void end() { thread_ = {}; }

  private:
    std::unique_ptr<KubeLeaseStore> store_;
    std::shared_ptr<Election> election_;
    Informers* informers_ = nullptr;
    std::jthread thread_;
};

}  // namespace tessera
