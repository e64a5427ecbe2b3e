#include "domain/defrag/movable.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace tessera::defrag {
namespace {

PodState movable() {
    return {.uid = PodUid("u"),
            .name = {"s", "p"},
            .node = NodeName("n"),
            .labels = {{"app", "web"}, {"tier", "a"}},
            .owner = Owner{"ReplicaSet", "web", "r"},
            .allowed = true};
}

Budget budget(std::optional<std::vector<LabelTerm>> selector, std::int64_t allowed) {
    return {{"s", "b"}, std::move(selector), allowed};
}

// Goal: a pod is movable only if its user, its controller and its budgets allow it. Method: a table
// of pods that violate one of these.
TEST(Movable, WhyAPodStays) {
    struct Case {
        std::function<void(PodState&)> change;
        const char* why;
    };
    EXPECT_EQ(why_it_stays(movable(), {}), std::nullopt);
    for (const Case& c : std::vector<Case>{
             {[](PodState& p) { p.allowed = false; },
              "no annotation tessera.dev/movable: \"true\""},
             {[](PodState& p) { p.owner.reset(); }, "no controller that would create it again"},
             {[](PodState& p) { p.owner->kind = "DaemonSet"; },
              "of a DaemonSet, which creates none elsewhere"},
             {[](PodState& p) { p.owner->kind = "Node"; },
              "of a Node, which creates none elsewhere"},
             {[](PodState& p) { p.mirror = true; }, "a static pod of its node's kubelet"},
             {[](PodState& p) { p.terminating = true; }, "terminating already"},
             {[](PodState& p) { p.finished = true; }, "finished"},
         }) {
        PodState pod = movable();
        c.change(pod);
        EXPECT_EQ(why_it_stays(pod, {}), c.why);
    }
}

// Goal: which budgets prevent a move. Method: a table of selectors.
TEST(Movable, Budgets) {
    using Kind = LabelTerm::Kind;
    struct Case {
        Budget budget;
        bool stays;
    };
    const auto one = [](Kind kind, const char* key, std::vector<std::string> values) {
        return std::vector<LabelTerm>{{kind, key, std::move(values)}};
    };
    const std::vector<Case> cases{
        {budget(one(Kind::in, "app", {"web"}), 0), true},
        {budget(one(Kind::in, "app", {"web"}), 1), false},
        {budget(one(Kind::in, "app", {"db"}), 0), false},
        {budget(one(Kind::in, "other", {"db"}), 0), false},
        {budget(one(Kind::not_in, "app", {"web"}), 0), false},
        {budget(one(Kind::not_in, "other", {"web"}), 0), true},
        {budget(one(Kind::exists, "app", {}), 0), true},
        {budget(one(Kind::absent, "app", {}), 0), false},
        {budget(std::vector<LabelTerm>{}, 0), true},
        {budget(std::nullopt, 0), true},
        {budget(std::nullopt, 5), true},
        {{{"other", "b"}, std::vector<LabelTerm>{}, 0}, false},
    };
    for (const Case& c : cases) {
        const std::vector budgets{c.budget};
        EXPECT_EQ(why_it_stays(movable(), budgets).has_value(), c.stays) << &c - cases.data();
    }
    const std::vector stale{budget(std::nullopt, 5)};
    EXPECT_EQ(why_it_stays(movable(), stale), "PodDisruptionBudget s/b cannot be read");
}

// Goal: the time of the replacement is reported only if it is known; for a Job, only if the Job
// waits.
TEST(Movable, WhenAnotherIsMade) {
    const std::set<std::string> waiting{"u"};
    const auto made_by = [&](const char* kind, const char* uid) {
        return replacement_by({kind, "x", uid}, waiting);
    };
    for (const char* kind : {"ReplicaSet", "ReplicationController"})
        EXPECT_EQ(made_by(kind, "u"), Replacement::at_once) << kind;
    EXPECT_EQ(made_by("StatefulSet", "v"), Replacement::once_gone);
    EXPECT_EQ(made_by("Job", "u"), Replacement::once_gone);
    EXPECT_EQ(made_by("Job", "v"), Replacement::unknown);
    for (const char* kind : {"PyTorchJob", "MPIJob", "RayCluster", ""})
        EXPECT_EQ(made_by(kind, "u"), Replacement::unknown) << kind;
}

// Goal: Jobs are read only for pods that may be moved.
TEST(Movable, WhoseJobMatters) {
    PodState pod = movable();
    EXPECT_FALSE(is_movable_of_a_job(pod));
    pod.owner->kind = "Job";
    EXPECT_TRUE(is_movable_of_a_job(pod));
    pod.allowed = false;
    EXPECT_FALSE(is_movable_of_a_job(pod));
    pod.owner.reset();
    pod.allowed = true;
    EXPECT_FALSE(is_movable_of_a_job(pod));
}

}  // namespace
}  // namespace tessera::defrag
