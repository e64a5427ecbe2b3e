// The controller's HTTP surface: gpushare's routes and answers (docs/research/gpushare.md §2.1;
// deviations in docs/compat/gpushare.md), health, and metrics.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "app/common/route_answer.hpp"
#include "app/scheduler/budget/budget_table.hpp"
#include "app/scheduler/http/route_table.hpp"
#include "app/scheduler/leader/election.hpp"
#include "app/scheduler/nomination/nominator.hpp"
#include "app/scheduler/observe/metrics.hpp"
#include "app/scheduler/scheduler.hpp"
#include "app/scheduler/self_preemption/self_preemption.hpp"
#include "domain/admission/pod_admission.hpp"

namespace tessera {

struct RouteRequest {
    std::string_view method;
    std::string_view path;  // without the query
    std::string& body;      // may be padded by the parser
};

struct AdmissionRequest;  // wire/kube/admission_json.hpp

struct Admission {
    AdmissionRules rules;
    const BudgetTable* budgets = nullptr;  // null: there are none
};

class SchedulerRoutes {
  public:
    // The owner works for some seconds at once at most: on the first list of a large cluster, or on
    // a gang of 1,000 pods (docs/limits.md).
    static constexpr std::chrono::seconds kOwnerBound{60};

    // All references outlive the routes. `synced` turns true once the snapshot is complete: until
    // then filter and bind answer that the controller is starting. With an election, a bind is sent
    // on to the leader (307), and so is a filter that finds no node but may find victims. A null
    // `election`: this controller is alone. Without `preemption` no pod is evicted. /healthz
    // answers 503 once the cache has left a change unanswered for `owner_bound`. A null
    // `admission`: the webhook is not served. A null `nominator`: no pod is nominated ahead.
    SchedulerRoutes(Scheduler& scheduler, ClusterCache& cache, SchedulerMetrics& metrics,
                    const std::atomic<bool>& synced, const Election* election = nullptr,
                    SelfPreemption* preemption = nullptr,
                    std::chrono::nanoseconds owner_bound = kOwnerBound,
                    const Admission* admission = nullptr, Nominator* nominator = nullptr);

    RouteAnswer answer(const RouteRequest& request);

  private:
    RouteAnswer answer_to(const RouteRow& row, std::string_view path, std::string& body);
    RouteAnswer filter(std::string& body);
    std::optional<FilterAnswer> filter(const ExtenderArgs& args,
                                       std::optional<RouteAnswer>& sent_on);
    RouteAnswer prioritize(std::string& body);
    RouteAnswer preempt(const std::string& body);
    RouteAnswer bind(const std::string& body);
    [[nodiscard]] bool leads() const;
    [[nodiscard]] std::optional<RouteAnswer> at_leader(Route route) const;
    [[nodiscard]] std::optional<RouteAnswer> at_nominator(Route route) const;
    RouteAnswer admit(const std::string& body);
    [[nodiscard]] Result<PodEdits> judge(const AdmissionRequest& request) const;
    RouteAnswer inspect(std::string_view node) const;
    RouteAnswer metrics();
    RouteAnswer healthz();

    Scheduler& scheduler_;
    ClusterCache& cache_;
    SchedulerMetrics& metrics_;
    const std::atomic<bool>& synced_;
    const Election* election_;
    SelfPreemption* preemption_;
    const std::chrono::nanoseconds owner_bound_;
    const Admission* admission_;
    Nominator* nominator_;
};

}  // namespace tessera
