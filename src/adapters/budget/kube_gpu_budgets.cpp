#include "adapters/budget/kube_gpu_budgets.hpp"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "adapters/kube/kube_call.hpp"
#include "adapters/kube/kube_pages.hpp"
#include "wire/budget/gpu_budget_json.hpp"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kDeadline{4'000};
constexpr const char* kRight = "list gpubudgets";

}  // namespace

std::int64_t KubeGpuBudgets::now_s() const {
    return clock_.unix_ns() / kNanosPerSecond;
}

Result<std::vector<BudgetObject>> KubeGpuBudgets::list() {
    std::vector<BudgetObject> out;
    const auto listed = each_item(http_, fmt::format("/apis/{}/gpubudgets", budget_api()), kRight,
                                  [&](JsonValue item) { out.push_back(read_gpu_budget(item)); });
    if (!listed && listed.error().code == Code::not_found) {
        return fail(Code::not_found,
                    "the cluster has not the CustomResourceDefinition gpubudgets.tessera.dev of "
                    "this release; upgrade the Helm chart");
    }
    if (!listed) return fail(listed.error());
    std::set<std::string_view> uids;
    for (const BudgetObject& budget : out)
        uids.insert(budget.uid);
    std::erase_if(written_, [&](const auto& entry) { return !uids.contains(entry.first); });
    return out;
}

Result<> KubeGpuBudgets::report(const BudgetObject& budget, const BudgetReport& report) {
    std::string status = write_budget_status(budget, report, now_s());
    const auto before = written_.find(budget.uid);
    if (before != written_.end() && before->second == status) return {};
    TRY_VOID(kube_merge_patch(http_,
                              fmt::format("/apis/{}/namespaces/{}/gpubudgets/{}/status",
                                          budget_api(), budget.ns, budget.name),
                              status, kDeadline));
    written_.insert_or_assign(budget.uid, std::move(status));
    return {};
}

Result<> KubeGpuBudgets::tell(const BudgetEvent& event) {
    TRY_VOID(kube_post(http_, fmt::format("/api/v1/namespaces/{}/events", event.ns),
                       write_budget_event(event, now_s()), kDeadline));
    return {};
}

}  // namespace tessera
