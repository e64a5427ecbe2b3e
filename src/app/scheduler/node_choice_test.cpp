#include "app/scheduler/node_choice.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "domain/cluster/state.hpp"
#include "domain/placement/binpack.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

// Nodes "n0", "n1" … of one card of 16 GiB, of which `held` GiB are held.
std::shared_ptr<const ClusterView> cluster(const std::vector<int>& held) {
    ClusterState state;
    for (std::size_t i = 0; i < held.size(); ++i) {
        const NodeInventory node = build::node(fmt::format("n{}", i), 1, gibibytes(16));
        state.set_node(node);
        if (held[i] == 0) continue;
        const PodFacts pod = build::pod(fmt::format("holder-{}", i), build::aliyun(held[i]));
        const auto reserved = state.reserve(pod.uid, pod.name, node.name,
                                            build::request(pod.containers), binpack_policy());
        EXPECT_TRUE(reserved);
        state.set_pod(build::bound(pod, reserved->allocation));
    }
    return state.view();
}

struct Asked {
    explicit Asked(std::size_t nodes, std::int64_t gib = 4) {
        for (std::size_t i = 0; i < nodes; ++i)
            names.push_back(fmt::format("n{}", i));
        args.pod = build::pod("p", build::aliyun(gib));
        args.names.assign(names.begin(), names.end());
    }
    [[nodiscard]] PodRequest request() const { return build::request(args.pod.containers); }

    std::vector<std::string> names;
    ExtenderArgs args;
};

// Goal: what is offered is the best there is, as many equals as may be; nodes that do not fit have
// their reasons all the same. Method: against every node that fits; best fit is the fullest card.
RC_GTEST_PROP(ChooseNodes, OffersTheBestAlone, ()) {
    const auto held = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 17));
    const auto best = *rc::gen::inRange<std::size_t>(0, 6);
    const auto view = cluster(held);
    const Asked asked(held.size());
    const auto choose = [&](std::size_t most) {
        return choose_nodes(*view, asked.args, asked.request(), binpack_policy(), most);
    };
    const FilterAnswer all = choose(0);
    const FilterAnswer few = choose(best);
    RC_ASSERT(few.failed == all.failed);
    RC_ASSERT(few.unresolvable == all.unresolvable);
    RC_ASSERT(all.fitting.size() + all.failed.size() + all.unresolvable.size() == held.size());
    if (best == 0 || all.fitting.empty()) {
        RC_ASSERT(few.fitting == all.fitting);
        return;
    }
    int most_held = 0;
    for (const std::size_t i : all.fitting)
        most_held = std::max(most_held, held[i]);
    std::vector<std::size_t> equals;
    for (const std::size_t i : all.fitting) {
        if (held[i] == most_held && equals.size() < best) equals.push_back(i);
    }
    RC_ASSERT(few.fitting == equals);
}

// Goal: a pod that prefers some nodes by its own rules is offered all that fit.
TEST(ChooseNodes, PreferencesNeedAll) {
    const auto view = cluster({8, 0, 4});
    Asked asked(3);
    const auto offered = [&] {
        return choose_nodes(*view, asked.args, asked.request(), binpack_policy(), 1).fitting;
    };
    EXPECT_EQ(offered(), std::vector<std::size_t>{0});
    asked.args.has_preferences = true;
    EXPECT_EQ(offered(), (std::vector<std::size_t>{0, 1, 2}));
}

// Goal: equal nodes are offered as they were named, so that the same question has the same answer.
TEST(ChooseNodes, EqualNodesInOrder) {
    const auto view = cluster({0, 0, 0, 0});
    const Asked asked(4);
    const auto few = choose_nodes(*view, asked.args, asked.request(), binpack_policy(), 2);
    EXPECT_EQ(few.fitting, (std::vector<std::size_t>{0, 1}));
}

// Goal: nothing asked, nothing said.
TEST(ChooseNodes, NoNodes) {
    const auto view = cluster({});
    const Asked asked(0);
    EXPECT_TRUE(
        choose_nodes(*view, asked.args, asked.request(), binpack_policy(), 3).fitting.empty());
    EXPECT_TRUE(score_nodes(*view, asked.args, asked.request(), binpack_policy()).empty());
}

}  // namespace
}  // namespace tessera
