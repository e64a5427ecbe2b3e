#include "adapters/budget/kube_gpu_budgets.hpp"

#include <gtest/gtest.h>

#include "adapters/kube/scripted_server_test.hpp"
#include "testing/fakes/fake_clock.hpp"

namespace tessera {
namespace {

constexpr const char* kList = "GET /apis/tessera.dev/v1alpha1/gpubudgets";
constexpr const char* kStatus =
    "PATCH /apis/tessera.dev/v1alpha1/namespaces/team/gpubudgets/b/status";
constexpr const char* kOne =
    R"({"metadata":{"resourceVersion":"1"},"items":[{"metadata":{"namespace":"team","name":"b","uid":"u"},)"
    R"("spec":{"gpuTime":"1h"}}]})";

// Goal: a status is written when it says something new, and again if the first try failed.
TEST(KubeGpuBudgets, WritesWhatIsNew) {
    ScriptedServer server;
    FakeClock clock;
    server.answer(kList, 200, kOne);
    server.answer(kStatus, 503, R"({"message":"busy"})");
    server.answer(kStatus, 200, "{}");
    KubeGpuBudgets budgets(server.client(), clock);
    const auto found = budgets.list();
    ASSERT_TRUE(found) << found.error().text;
    ASSERT_EQ(found->size(), 1U);
    const BudgetObject& budget = found->front();
    EXPECT_EQ(budget.fields.gpu_time, "1h");
    EXPECT_EQ(budgets.report(budget, {.message = "m"}).error().code, Code::unavailable);
    EXPECT_TRUE(budgets.report(budget, {.message = "m"}));
    const std::size_t requests = server.requests().size();
    EXPECT_TRUE(budgets.report(budget, {.message = "m"}));
    EXPECT_EQ(server.requests().size(), requests);
    EXPECT_TRUE(budgets.report(budget, {.message = "other"}));
    EXPECT_EQ(server.requests().size(), requests + 1);
    EXPECT_NE(server.requests().back().body.find(R"("message":"other")"), std::string::npos);
}

// Goal: a cluster without the CustomResourceDefinition is not_found, which says what to do.
TEST(KubeGpuBudgets, TheClusterKnowsNone) {
    ScriptedServer server;
    FakeClock clock;
    server.answer(kList, 404, R"({"message":"the server could not find the requested resource"})");
    KubeGpuBudgets budgets(server.client(), clock);
    const auto found = budgets.list();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Code::not_found);
    EXPECT_NE(found.error().text.find("the CustomResourceDefinition gpubudgets.tessera.dev"),
              std::string::npos)
        << found.error().text;
}

TEST(KubeGpuBudgets, Tells) {
    ScriptedServer server;
    FakeClock clock;
    server.answer("POST /api/v1/namespaces/team/events", 201, "{}");
    KubeGpuBudgets budgets(server.client(), clock);
    EXPECT_TRUE(budgets.tell({"team", "b", "u", false, "BudgetThreshold", "m"}));
    EXPECT_NE(server.requests().back().body.find("BudgetThreshold"), std::string::npos);
}

}  // namespace
}  // namespace tessera
