// The controller's HTTP surface: gpushare's routes and answers (docs/research/gpushare.md §2.1;
// deviations in docs/compat/gpushare.md), health, and metrics.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "app/scheduler/election.hpp"
#include "app/scheduler/metrics.hpp"
#include "app/scheduler/own_preemption.hpp"
#include "app/scheduler/route_answer.hpp"
#include "app/scheduler/route_table.hpp"
#include "app/scheduler/scheduler.hpp"

namespace tessera {

struct RouteRequest {
    std::string_view method;
    std::string_view path;  // without the query
    std::string& body;      // may be padded by the parser
};

class SchedulerRoutes {
  public:
    // The longest that the owner works at once is some seconds: the first list of a large cluster,
    // or a gang of 1,000 pods (docs/limits.md).
    static constexpr std::chrono::seconds kOwnerBound{60};

    // All that is referred to outlives the routes. `synced` turns true once the view is complete:
    // until then filter and bind answer that the controller is starting. With an election, a bind
    // is sent on to the leader (307), and so is a filter that no node passes where others might be
    // evicted; null: this controller is alone. Without `preemption` nobody is. /healthz answers 503
    // once the keeper has left a change unanswered for `owner_bound`.
    SchedulerRoutes(Scheduler& scheduler, Keeper& keeper, SchedulerMetrics& metrics,
                    const std::atomic<bool>& synced, const Election* election = nullptr,
                    OwnPreemption* preemption = nullptr,
                    std::chrono::nanoseconds owner_bound = kOwnerBound);

    RouteAnswer answer(const RouteRequest& request);

  private:
    RouteAnswer answer_to(const RouteRow& row, std::string_view path, std::string& body);
    RouteAnswer filter(std::string& body);
    RouteAnswer prioritize(std::string& body);
    RouteAnswer preempt(const std::string& body);
    RouteAnswer bind(const std::string& body);
    [[nodiscard]] bool leads() const;
    [[nodiscard]] std::optional<RouteAnswer> at_leader(Route route) const;
    RouteAnswer inspect(std::string_view node) const;
    RouteAnswer metrics();
    RouteAnswer healthz();

    Scheduler& scheduler_;
    Keeper& keeper_;
    SchedulerMetrics& metrics_;
    const std::atomic<bool>& synced_;
    const Election* election_;
    OwnPreemption* preemption_;
    const std::chrono::nanoseconds owner_bound_;
};

}  // namespace tessera
