#include "app/scheduler/filter/node_choice.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "app/scheduler/filter/diagnosis.hpp"
#include "domain/scheduling/state.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

// Nodes "n0", "n1" … of one GPU of 16 GiB, of which `allocated` GiB are allocated.
std::shared_ptr<const Snapshot> cluster(const std::vector<int>& allocated) {
    ClusterState state;
    for (std::size_t i = 0; i < allocated.size(); ++i) {
        const NodeInventory node = build::node(fmt::format("n{}", i), 1, gibibytes(16));
        state.set_node(node);
        if (allocated[i] == 0) continue;
        const PodInfo pod = build::pod(fmt::format("holder-{}", i), build::aliyun(allocated[i]));
        const auto reserved = state.reserve(build::request(pod), node.name);
        EXPECT_TRUE(reserved);
        state.set_pod(build::bound(pod, reserved->allocation));
    }
    return state.snapshot();
}

struct Asked {
    explicit Asked(std::size_t nodes, std::int64_t gib = 4) {
        for (std::size_t i = 0; i < nodes; ++i)
            names.push_back(fmt::format("n{}", i));
        args.pod = build::pod("p", build::aliyun(gib));
        args.names.assign(names.begin(), names.end());
    }
    [[nodiscard]] PodRequest request() const { return build::request(args.pod); }

    std::vector<std::string> names;
    ExtenderArgs args;
};

// Goal: only the best nodes are returned, up to the configured number of equal ones. Nodes that do
// not fit still have their reasons. Method: against every node that fits; best fit is the fullest
// GPU.
RC_GTEST_PROP(ChooseNodes, OffersTheBestAlone, ()) {
    const auto allocated = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 17));
    const auto best = *rc::gen::inRange<std::size_t>(0, 6);
    const auto snapshot = cluster(allocated);
    const Asked asked(allocated.size());
    const auto choose = [&](std::size_t most) {
        return choose_nodes(*snapshot, asked.args, asked.request(), nullptr, most);
    };
    const FilterAnswer all = choose(0);
    const FilterAnswer few = choose(best);
    RC_ASSERT(few.failed == all.failed);
    RC_ASSERT(few.unresolvable == all.unresolvable);
    RC_ASSERT(all.fitting.size() + all.failed.size() + all.unresolvable.size() == allocated.size());
    if (best == 0 || all.fitting.empty()) {
        RC_ASSERT(few.fitting == all.fitting);
        return;
    }
    int most_allocated = 0;
    for (const std::size_t i : all.fitting)
        most_allocated = std::max(most_allocated, allocated[i]);
    std::vector<std::size_t> equals;
    for (const std::size_t i : all.fitting) {
        if (allocated[i] == most_allocated && equals.size() < best) equals.push_back(i);
    }
    RC_ASSERT(few.fitting == equals);
}

// Goal: however many nodes are named, and in whatever order, each is judged as if it were named
// alone. The same holds for unknown and repeated names.
TEST(ChooseNodes, ManyAsOneByOne) {
    std::vector<int> allocated;
    for (int i = 0; i < 300; ++i)
        allocated.push_back(i * 7 % 17);
    const auto snapshot = cluster(allocated);
    Asked many(allocated.size());
    many.names.insert(many.names.end(), {"n5", "unknown", "n5", ""});
    std::ranges::reverse(many.names);
    std::rotate(many.names.begin(), many.names.begin() + 123, many.names.end());
    many.args.names.assign(many.names.begin(), many.names.end());
    std::vector<std::size_t> fitting;
    for (std::size_t i = 0; i < many.names.size(); ++i) {
        Asked one(1);
        one.args.names = {many.names[i]};
        const auto alone = choose_nodes(*snapshot, one.args, one.request(), nullptr, 0);
        if (!alone.fitting.empty()) fitting.push_back(i);
    }
    ASSERT_GT(fitting.size(), 200U);
    EXPECT_EQ(choose_nodes(*snapshot, many.args, many.request(), nullptr, 0).fitting, fitting);
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

// Goal: on few nodes each reason has its own number. On many nodes with different numbers, one
// sentence counts them, with the largest number of all.
TEST(ChooseNodes, ManyReasonsBecomeOne) {
    const auto refuse = [](const std::vector<int>& allocated) {
        const auto snapshot = cluster(allocated);
        const Asked asked(allocated.size(), 9);
        return choose_nodes(*snapshot, asked.args, asked.request(), nullptr, 1);
    };
    const std::string few =
        "Insufficient GPU Memory in one device: asked 9Gi, largest free share on a GPU is {}Gi (1 "
        "GPUs)";
    EXPECT_EQ(counted(refuse({16 - 2, 16 - 3, 16 - 3, 16 - 4})),
              (std::map<std::string, int>{{fmt::format(fmt::runtime(few), 2), 1},
                                          {fmt::format(fmt::runtime(few), 3), 2},
                                          {fmt::format(fmt::runtime(few), 4), 1}}));
    const FilterAnswer many = refuse({16 - 2, 16 - 7, 16 - 7, 16 - 4, 16 - 5});
    EXPECT_EQ(counted(many),
              (std::map<std::string, int>{
                  {"Insufficient GPU Memory in one device: asked 9Gi, largest free share on a GPU "
                   "of all these nodes is 7Gi",
                   5}}));
    EXPECT_EQ(many.reason, UnschedulableReason::memory);
}

// Goal: nodes with other reasons are counted separately, each in the list that kube-scheduler
// expects. Of all reasons, the one nearest to running stands for the pod.
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
    const FilterAnswer answer =
        choose_nodes(*state.snapshot(), asked.args, asked.request(), nullptr, 1);
    const std::string memory = "Insufficient GPU Memory in one device: asked 20Gi, ";
    EXPECT_EQ(
        counted(answer),
        (std::map<std::string, int>{
            {memory + "the largest GPU of all these nodes has 19Gi", 5},
            {"Insufficient GPU Memory in one device: asked 20Gi, and every GPU is out of use", 6},
            {"The node n11 is not for GPU share, need skip", 1},
            {"several nodes like this one: node \"n12\" not found", 4}}));
    EXPECT_EQ(answer.unresolvable.size(), 6U);
    EXPECT_EQ(answer.reason, UnschedulableReason::unhealthy);
}

// Goal: a node that is reserved for a nominee refuses pods of the same priority and names the
// nominee. It loses to a node with free GPUs. The nominee itself is offered the node, and so is a
// pod of higher priority.
TEST(ChooseNodes, RoomKeptForANominee) {
    ClusterState state;
    for (const char* name : {"n0", "n1"})
        state.set_node(build::node(name, 1, gibibytes(16)));
    PodInfo nominee = build::pod("nominee", build::aliyun(14));
    nominee.priority = 10;
    nominee.nominated = NodeName("n0");
    state.set_pod(nominee);
    Asked asked(2, 4);
    const auto choose = [&] {
        return choose_nodes(*state.snapshot(), asked.args, asked.request(), nullptr, 2);
    };
    const FilterAnswer after = choose();
    EXPECT_EQ(after.fitting, std::vector<std::size_t>{1});
    EXPECT_EQ(counted(after),
              (std::map<std::string, int>{{"GPUs of this node are reserved for pod default/nominee "
                                           "of priority 10",
                                           1}}));
    EXPECT_EQ(after.failed.size(), 1U) << "the pod may fit later";
    EXPECT_EQ(after.reason, UnschedulableReason::reserved);
    EXPECT_EQ(score_nodes(*state.snapshot(), asked.args, asked.request(), nullptr),
              (std::vector<int>{0, 10}));
    asked.args.pod.priority = 11;
    EXPECT_EQ(choose().fitting, (std::vector<std::size_t>{0, 1}));
    asked.args.pod = nominee;
    EXPECT_EQ(choose().fitting, (std::vector<std::size_t>{0, 1}));
}

// Goal: a pod that was nominated ahead of its turn goes to the node that was chosen for it,
// although another is as good, but only if it fits there.
TEST(ChooseNodes, TheNodeChosenAhead) {
    ClusterState state;
    for (const char* name : {"n0", "n1", "n2"})
        state.set_node(build::node(name, 1, gibibytes(16)));
    const Asked asked(3, 4);
    state.set_pod(asked.args.pod);
    ASSERT_TRUE(state.reserve_node(asked.args.pod.uid, NodeName("n1"), ReservedBy::nominator));
    const auto choose = [&](std::size_t best) {
        return choose_nodes(*state.snapshot(), asked.args, asked.request(), nullptr, best).fitting;
    };
    EXPECT_EQ(choose(16), (std::vector<std::size_t>{1}));
    EXPECT_EQ(choose(0), (std::vector<std::size_t>{0, 1, 2}));
    PodInfo first = build::pod("first", build::aliyun(14));
    first.priority = 1;
    first.nominated = NodeName("n1");
    state.set_pod(first);
    EXPECT_EQ(choose(16), (std::vector<std::size_t>{0, 2}));
}

// Goal: no reason of any kind names a pod of another namespace, or its namespace. Method: nodes
// that refuse for every reason that involves other pods, one and many of each.
RC_GTEST_PROP(ChooseNodes, NamesNoPodOfAnotherNamespace, ()) {
    ClusterState state;
    const auto kinds = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 5));
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        const NodeInventory node = build::node(fmt::format("n{}", i), 1, gibibytes(16));
        state.set_node(node);
        PodInfo other = build::pod(fmt::format("secret-{}", i), build::native(gibibytes(15)));
        other.name.ns = "secret";
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
        const auto made = state.reserve(build::request(other), node.name);
        RC_ASSERT(made.has_value());
        state.set_pod(build::bound(other, made->allocation));
    }
    const Asked asked(kinds.size());
    const auto reasons = [&](const ExtenderArgs& args) {
        std::string all;
        const auto answer = choose_nodes(*state.snapshot(), args, asked.request(), nullptr, 1);
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

// Goal: a pod with its own node preferences is offered all nodes that fit.
TEST(ChooseNodes, PreferencesNeedAll) {
    const auto snapshot = cluster({8, 0, 4});
    Asked asked(3);
    const auto offered = [&] {
        return choose_nodes(*snapshot, asked.args, asked.request(), nullptr, 1).fitting;
    };
    EXPECT_EQ(offered(), std::vector<std::size_t>{0});
    asked.args.has_preferences = true;
    EXPECT_EQ(offered(), (std::vector<std::size_t>{0, 1, 2}));
}

// Goal: equal nodes are offered in the order of the request, so that the same request has the same
// answer.
TEST(ChooseNodes, EqualNodesInOrder) {
    const auto snapshot = cluster({0, 0, 0, 0});
    const Asked asked(4);
    const auto few = choose_nodes(*snapshot, asked.args, asked.request(), nullptr, 2);
    EXPECT_EQ(few.fitting, (std::vector<std::size_t>{0, 1}));
}

// Goal: a request without nodes gets an empty answer.
TEST(ChooseNodes, NoNodes) {
    const auto snapshot = cluster({});
    const Asked asked(0);
    EXPECT_TRUE(choose_nodes(*snapshot, asked.args, asked.request(), nullptr, 3).fitting.empty());
    EXPECT_TRUE(score_nodes(*snapshot, asked.args, asked.request(), nullptr).empty());
}

}  // namespace
}  // namespace tessera
