#include "app/scheduler/node_choice.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "app/scheduler/refusals.hpp"
#include "domain/cluster/state.hpp"
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
        const auto reserved = state.reserve(build::ask(pod), node.name);
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
    [[nodiscard]] PodAsk ask() const { return build::ask(args.pod); }

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
        return choose_nodes(*view, asked.args, asked.ask(), nullptr, most);
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

// Goal: however many nodes are named, and in whatever order, each is judged as if it were asked
// about alone; unknown and repeated names too.
TEST(ChooseNodes, ManyAsOneByOne) {
    std::vector<int> held;
    for (int i = 0; i < 300; ++i)
        held.push_back(i * 7 % 17);
    const auto view = cluster(held);
    Asked many(held.size());
    many.names.insert(many.names.end(), {"n5", "unknown", "n5", ""});
    std::ranges::reverse(many.names);
    std::rotate(many.names.begin(), many.names.begin() + 123, many.names.end());
    many.args.names.assign(many.names.begin(), many.names.end());
    std::vector<std::size_t> fitting;
    for (std::size_t i = 0; i < many.names.size(); ++i) {
        Asked one(1);
        one.args.names = {many.names[i]};
        const auto alone = choose_nodes(*view, one.args, one.ask(), nullptr, 0);
        if (!alone.fitting.empty()) fitting.push_back(i);
    }
    ASSERT_GT(fitting.size(), 200U);
    EXPECT_EQ(choose_nodes(*view, many.args, many.ask(), nullptr, 0).fitting, fitting);
}

// The reasons as kube-scheduler counts them for its event.
std::map<std::string, int> counted(const FilterAnswer& answer) {
    std::map<std::string, int> out;
    for (const auto* list : {&answer.failed, &answer.unresolvable}) {
        for (const Refusal& refusal : *list)
            ++out[refusal.reason];
    }
    return out;
}

// Goal: on few nodes each says its own number; on many, whose numbers differ, one sentence counts
// them, with the largest number of all.
TEST(ChooseNodes, ManyReasonsBecomeOne) {
    const auto refuse = [](const std::vector<int>& held) {
        const auto view = cluster(held);
        const Asked asked(held.size(), 9);
        return choose_nodes(*view, asked.args, asked.ask(), nullptr, 1);
    };
    const std::string few =
        "Insufficient GPU Memory in one device: asked 9Gi, largest free share on a card is {}Gi (1 "
        "cards)";
    EXPECT_EQ(counted(refuse({16 - 2, 16 - 3, 16 - 3, 16 - 4})),
              (std::map<std::string, int>{{fmt::format(fmt::runtime(few), 2), 1},
                                          {fmt::format(fmt::runtime(few), 3), 2},
                                          {fmt::format(fmt::runtime(few), 4), 1}}));
    const FilterAnswer many = refuse({16 - 2, 16 - 7, 16 - 7, 16 - 4, 16 - 5});
    EXPECT_EQ(counted(many),
              (std::map<std::string, int>{
                  {"Insufficient GPU Memory in one device: asked 9Gi, largest free share on a card "
                   "of all these nodes is 7Gi",
                   5}}));
    EXPECT_EQ(many.obstacle, Obstacle::memory);
}

// Goal: nodes that are refused for other reasons are counted apart, each where kube-scheduler wants
// it; of all, the reason that is nearest to its end stands for the pod.
TEST(ChooseNodes, ClassesStayApart) {
    ClusterState state;
    Asked asked(0, 20);
    for (int i = 0; i < 12; ++i) {
        NodeInventory node =
            build::node(fmt::format("n{:02}", i), 1, gibibytes(i < 5 ? 16 + i % 4 : 32 + i));
        if (i >= 5) node.gpus[0].condition = GpuCondition::unhealthy;
        if (i == 11) node.gpus.clear();
        state.set_node(node);
        asked.names.push_back(node.name.str());
    }
    for (const char* name : {"n12", "n13", "n14", "n15"})
        asked.names.emplace_back(name);
    asked.args.names.assign(asked.names.begin(), asked.names.end());
    const FilterAnswer answer = choose_nodes(*state.view(), asked.args, asked.ask(), nullptr, 1);
    const std::string memory = "Insufficient GPU Memory in one device: asked 20Gi, ";
    EXPECT_EQ(
        counted(answer),
        (std::map<std::string, int>{
            {memory + "the largest card of all these nodes has 19Gi", 5},
            {"Insufficient GPU Memory in one device: asked 20Gi, and every card is out of use", 6},
            {"The node n11 is not for GPU share, need skip", 1},
            {"several nodes like this one: node \"n12\" not found", 4}}));
    EXPECT_EQ(answer.unresolvable.size(), 6U);
    EXPECT_EQ(answer.obstacle, Obstacle::unhealthy);
}

// Goal: a node whose room is kept for a nominee refuses its equals, says for whom, and is passed
// over for one that has room; the nominee itself is offered it, and so is a pod above it.
TEST(ChooseNodes, RoomKeptForANominee) {
    ClusterState state;
    for (const char* name : {"n0", "n1"})
        state.set_node(build::node(name, 1, gibibytes(16)));
    PodFacts nominee = build::pod("nominee", build::aliyun(14));
    nominee.priority = 10;
    nominee.nominated = NodeName("n0");
    state.set_pod(nominee);
    Asked asked(2, 4);
    const auto choose = [&] {
        return choose_nodes(*state.view(), asked.args, asked.ask(), nullptr, 2);
    };
    const FilterAnswer after = choose();
    EXPECT_EQ(after.fitting, std::vector<std::size_t>{1});
    EXPECT_EQ(counted(after),
              (std::map<std::string, int>{{"the room on this node is kept for pod default/nominee "
                                           "of priority 10, for which others are ended",
                                           1}}));
    EXPECT_EQ(after.failed.size(), 1U) << "it may fit later";
    EXPECT_EQ(after.obstacle, Obstacle::kept);
    EXPECT_EQ(score_nodes(*state.view(), asked.args, asked.ask(), nullptr),
              (std::vector<int>{0, 10}));
    asked.args.pod.priority = 11;
    EXPECT_EQ(choose().fitting, (std::vector<std::size_t>{0, 1}));
    asked.args.pod = nominee;
    EXPECT_EQ(choose().fitting, (std::vector<std::size_t>{0, 1}));
}

// Goal: no reason of any kind names a pod of another namespace, or its namespace. Method: nodes
// that refuse for every reason in which other pods take part, one and many of each.
RC_GTEST_PROP(ChooseNodes, NamesNoPodOfAnotherNamespace, ()) {
    ClusterState state;
    const auto kinds = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 5));
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        const NodeInventory node = build::node(fmt::format("n{}", i), 1, gibibytes(16));
        state.set_node(node);
        PodFacts other = build::pod(fmt::format("secret-{}", i), build::native(gibibytes(15)));
        other.name.space = "secret";
        other.priority = 9'876;
        if (kinds[i] == 0) {
            other.nominated = node.name;
        } else if (kinds[i] < 4) {
            other.node = node.name;
            other.started = true;
            other.allocation = fail(kinds[i] == 1   ? Code::unsupported
                                    : kinds[i] == 2 ? Code::permission_denied
                                                    : Code::invalid_argument,
                                    "secret");
        }
        state.set_pod(other);
        if (kinds[i] != 4) continue;
        const auto made = state.reserve(build::ask(other), node.name);
        RC_ASSERT(made.has_value());
        state.set_pod(build::bound(other, made->allocation));
    }
    const Asked asked(kinds.size());
    const auto reasons = [&](const ExtenderArgs& args) {
        std::string all;
        const auto answer = choose_nodes(*state.view(), args, asked.ask(), nullptr, 1);
        RC_ASSERT(answer.fitting.empty());
        RC_ASSERT(answer.failed.size() + answer.unresolvable.size() == kinds.size());
        for (const auto* refusals : {&answer.failed, &answer.unresolvable}) {
            for (const Refusal& refusal : *refusals)
                all += refusal.reason;
        }
        return all;
    };
    const std::string said = reasons(asked.args);
    RC_ASSERT(said.find("secret") == std::string::npos);
    RC_ASSERT(said.find("9876") == std::string::npos);
    ExtenderArgs all = asked.args;
    all.reads_all = true;
    const bool is_named = std::ranges::any_of(kinds, [](int kind) { return kind < 4; });
    RC_ASSERT((reasons(all).find("secret/secret-") != std::string::npos) == is_named);
}

// Goal: kube-scheduler never reads "no nodes" without a reason for each, whatever code decided.
TEST(ChooseNodes, MissingReasonsAreGiven) {
    const Asked asked(3);
    FilterAnswer answer;
    answer.failed.push_back({1, "it is full"});
    give_missing_reasons(asked.args, answer);
    ASSERT_EQ(answer.failed.size(), 3U);
    std::set<std::size_t> nodes;
    for (const Refusal& refusal : answer.failed) {
        nodes.insert(refusal.node);
        EXPECT_EQ(refusal.reason == "it is full", refusal.node == 1);
        EXPECT_NE(refusal.reason, "");
    }
    EXPECT_EQ(nodes.size(), 3U);
    FilterAnswer fits;
    fits.fitting = {2};
    give_missing_reasons(asked.args, fits);
    EXPECT_TRUE(fits.failed.empty());
}

// Goal: a pod that prefers some nodes by its own rules is offered all that fit.
TEST(ChooseNodes, PreferencesNeedAll) {
    const auto view = cluster({8, 0, 4});
    Asked asked(3);
    const auto offered = [&] {
        return choose_nodes(*view, asked.args, asked.ask(), nullptr, 1).fitting;
    };
    EXPECT_EQ(offered(), std::vector<std::size_t>{0});
    asked.args.has_preferences = true;
    EXPECT_EQ(offered(), (std::vector<std::size_t>{0, 1, 2}));
}

// Goal: equal nodes are offered as they were named, so that the same question has the same answer.
TEST(ChooseNodes, EqualNodesInOrder) {
    const auto view = cluster({0, 0, 0, 0});
    const Asked asked(4);
    const auto few = choose_nodes(*view, asked.args, asked.ask(), nullptr, 2);
    EXPECT_EQ(few.fitting, (std::vector<std::size_t>{0, 1}));
}

// Goal: nothing asked, nothing said.
TEST(ChooseNodes, NoNodes) {
    const auto view = cluster({});
    const Asked asked(0);
    EXPECT_TRUE(choose_nodes(*view, asked.args, asked.ask(), nullptr, 3).fitting.empty());
    EXPECT_TRUE(score_nodes(*view, asked.args, asked.ask(), nullptr).empty());
}

}  // namespace
}  // namespace tessera
