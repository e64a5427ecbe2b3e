#include "app/scheduler/ratings.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "app/scheduler/node_choice.hpp"
#include "domain/cluster/state.hpp"
#include "domain/placement/fleet/index.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

// One MiB is a thousandth of it.
constexpr Bytes kCard = mebibytes(kMilliPerCard);

struct Host {
    int cards;
    int cpu_milli;
    int model;
};

// A cluster twice: as the simulator has it, and as the controller does.
class Twins {
  public:
    Twins(const std::vector<Host>& hosts, const FleetPolicyRow& row, const PolicyInputs& inputs)
        : fleet_(shapes(hosts, models_)),
          policy_(row.make(inputs)),
          index_(fleet_, *policy_),
          ratings_(policy_->copy()) {
        for (std::size_t i = 0; i < hosts.size(); ++i) {
            names_.push_back(fmt::format("n{:03}", i));
            NodeInventory node = build::node(names_.back(), hosts[i].cards, kCard);
            node.host = {hosts[i].cpu_milli, gibibytes(1'000)};
            for (Gpu& gpu : node.gpus)
                gpu.model = fmt::format("model-{}", hosts[i].model);
            state_.set_node(node);
        }
    }

    // Places a task on both; false where neither has room.
    bool place(const Task& task) {
        const PodFacts pod = pod_of(task);
        const auto decision = index_.choose(task, 0);
        ExtenderArgs args;
        args.pod = pod;
        args.names.assign(names_.begin(), names_.end());
        const auto view = state_.view();
        // A slow policy is asked about all nodes behind the first request.
        choose_nodes(*view, args, build::ask(pod), &ratings_, 1);
        RC_ASSERT(ratings_.catch_up(*view, 1'000));
        const auto answer = choose_nodes(*view, args, build::ask(pod), &ratings_, 1);
        if (!decision) {
            // The engine knows of CPU, which the scheduler decides on before it asks us.
            const bool is_last =
                answer.fitting.empty() || is_unrated(*view, answer.fitting[0], pod);
            RC_ASSERT(is_last);
            return false;
        }
        RC_ASSERT(answer.fitting == std::vector{decision->node});
        const auto made =
            state_.reserve(build::ask(pod), NodeName(names_[decision->node]), &ratings_);
        RC_ASSERT(made.has_value());
        CardSet cards = 0;
        for (const GpuShare& share : made->allocation.containers[0].gpus)
            cards = static_cast<CardSet>(cards | card_bit(share.index));
        RC_ASSERT(cards == decision->rating.cards);
        fleet_.place(decision->node, task, cards);
        state_.set_pod(build::bound(pod, made->allocation));
        running_.push_back({pod.uid, decision->node, task, cards});
        for (std::size_t i = 0; i < names_.size(); ++i)
            RC_ASSERT(loads_agree(i));
        return true;
    }

    void end(std::size_t which) {
        if (running_.empty()) return;
        const Running ended = running_[which % running_.size()];
        running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(which % running_.size()));
        fleet_.release(ended.node, ended.task, ended.cards);
        state_.remove_pod(ended.uid);
    }

  private:
    struct Running {
        PodUid uid;
        std::size_t node;
        Task task;
        CardSet cards;
    };

    // The engine numbers models as they come; `models` are then the hosts' own by these numbers.
    static std::vector<NodeShape> shapes(const std::vector<Host>& hosts, std::vector<int>& models) {
        std::vector<NodeShape> out;
        for (const Host& host : hosts) {
            auto known = std::ranges::find(models, host.model);
            if (known == models.end()) known = models.insert(models.end(), host.model);
            out.push_back({.cpu_milli = host.cpu_milli,
                           .memory_mib = 1'000'000,
                           .cards = host.cards,
                           .model = static_cast<int>(known - models.begin())});
        }
        return out;
    }

    PodFacts pod_of(const Task& task) {
        const bool is_whole = task.milli == kMilliPerCard;
        PodFacts pod = build::pod(
            fmt::format("p{}", pods_++),
            is_whole ? build::whole(task.count) : build::native(mebibytes(task.milli), task.count));
        pod.host.cpu_milli = task.cpu_milli;
        if (task.models == kAnyModel) return pod;
        for (std::size_t number = 0; number < models_.size(); ++number) {
            if ((task.models & model_bit(static_cast<int>(number))) != 0)
                pod.card_rules.models += fmt::format("model-{},", models_[number]);
        }
        if (pod.card_rules.models.empty()) pod.card_rules.models = "a model that is nowhere,";
        pod.card_rules.models.pop_back();
        return pod;
    }

    [[nodiscard]] bool is_unrated(const ClusterView& view, std::size_t node,
                                  const PodFacts& pod) const {
        const std::uint32_t position = view.position(names_[node]);
        return ratings_.rate(view, {&position, 1}, build::ask(pod))[0] == NodeRater::kLast;
    }

    [[nodiscard]] bool loads_agree(std::size_t node) {
        NodeLoad ours = state_.view()->find(names_[node])->load;
        ours.memory_mib = fleet_.load(node).memory_mib;
        return ours == fleet_.load(node);
    }

    std::vector<int> models_;
    Fleet fleet_;
    std::unique_ptr<FleetPolicy> policy_;
    FleetIndex index_;
    Ratings ratings_;
    ClusterState state_;
    std::vector<std::string> names_;
    std::vector<Running> running_;
    int pods_ = 0;
};

// Numbers from one that rapidcheck gives: its own generators begin with small clusters only.
class Dice {
  public:
    explicit Dice(std::uint64_t seed) : engine_(seed) {}
    int between(int least, int most) {
        return least + static_cast<int>(engine_() % static_cast<std::uint64_t>(most - least + 1));
    }
    Task task() {
        const bool is_share = between(0, 2) > 0;
        return {.cpu_milli = between(0, 8) * 500,
                .milli = static_cast<std::int16_t>(is_share ? between(1, 19) * 50 : kMilliPerCard),
                .count = static_cast<std::int16_t>(between(1, is_share ? 2 : 4)),
                .models = between(0, 3) == 0 ? static_cast<ModelSet>(between(1, 7)) : kAnyModel};
    }

  private:
    std::mt19937_64 engine_;
};

// Goal: for the same state the extender and the simulator choose the same node and the same cards,
// under every policy that leaves nothing to chance; and so nobody is given more than there is.
// Method: random clusters on which tasks come and go, once through FleetIndex, once through
// choose_nodes and ClusterState::reserve.
RC_GTEST_PROP(Ratings, ExtenderAndSimulatorAgree, ()) {
    Dice dice(*rc::gen::arbitrary<std::uint64_t>());
    for (const FleetPolicyRow& row : fleet_policies()) {
        if (row.name == "random") continue;
        // Many nodes are rated another way than few (node_choice.cpp).
        const int most = dice.between(0, 9) == 0 ? 90 : 12;
        std::vector<Host> hosts(static_cast<std::size_t>(dice.between(1, most)));
        for (Host& host : hosts)
            host = {dice.between(1, 8), dice.between(1, 8) * 4'000, dice.between(0, 2)};
        std::vector<MixClass> mix;
        for (int i = 0; i < 5; ++i) {
            const Task task = dice.task();
            mix.push_back({task.cpu_milli, task.milli, task.count, kAnyModel, 0.2});
        }
        Twins twins(hosts, row, {.mix = mix});
        for (int step = 0; step < 40; ++step) {
            if (dice.between(0, 3) == 0) {
                twins.end(static_cast<std::size_t>(dice.between(0, 1'000)));
            } else {
                twins.place(dice.task());
            }
        }
    }
}

// Nodes of one card each, of which every one has another part taken.
class ManyNodes : public testing::Test {
  protected:
    ManyNodes() {
        for (int i = 0; i < kNodes; ++i) {
            const std::string name = fmt::format("n{:03}", i);
            state_.set_node(build::node(name, 1, kCard));
            take(i, 1 + i);
            all_.push_back(state_.view()->position(name));
        }
    }
    void take(int node, int milli) {
        const PodFacts pod =
            build::pod(fmt::format("there-{}", pods_++), build::native(mebibytes(milli)));
        const NodeName name(fmt::format("n{:03}", node));
        const auto made = state_.reserve(build::ask(pod), name);
        ASSERT_TRUE(made);
        state_.set_pod(build::bound(pod, made->allocation));
    }
    std::vector<std::int64_t> rate(const Ratings& ratings, int milli) {
        const PodAsk pod = build::ask(build::pod("asks", build::native(mebibytes(milli))));
        return ratings.rate(*state_.view(), all_, pod);
    }
    // By one that nobody has asked yet, node by node.
    std::vector<std::int64_t> rate_anew(int milli) {
        const PodAsk pod = build::ask(build::pod("asks", build::native(mebibytes(milli))));
        const Ratings ratings = fgd();
        std::vector<std::int64_t> out;
        for (const std::uint32_t position : all_)
            out.push_back(ratings.rate(*state_.view(), {&position, 1}, pod)[0]);
        return out;
    }
    static Ratings fgd() {
        static const std::vector<MixClass> mix = {{0, 300, 1, kAnyModel, 0.7},
                                                  {0, 550, 1, kAnyModel, 0.3}};
        return Ratings((*find_policy_option("fgd"))->make({.mix = mix}));
    }

    static constexpr int kNodes = 100;
    ClusterState state_;
    std::vector<std::uint32_t> all_;
    int pods_ = 0;
};

// Goal: a kind of task that nobody asked for before costs a request a few ratings, those of the
// fullest nodes; when the rest is caught up with, the next has all of them.
TEST_F(ManyNodes, AreRatedBehindTheFirstRequest) {
    Ratings ratings = fgd();
    const auto truth = rate_anew(200);
    const auto first = rate(ratings, 200);
    for (int i = 0; i < kNodes; ++i) {
        const bool is_among_fullest = i >= kNodes - static_cast<int>(Ratings::kFullestAnew);
        EXPECT_EQ(first[i], is_among_fullest ? truth[i] : NodeRater::kLast) << i;
    }
    EXPECT_FALSE(ratings.catch_up(*state_.view(), 10));
    EXPECT_TRUE(ratings.catch_up(*state_.view(), kNodes));
    EXPECT_EQ(rate(ratings, 200), truth);
    EXPECT_TRUE(ratings.catch_up(*state_.view(), 0)) << "nothing is left to do";
}

// Goal: of nodes that have changed a few are rated anew at once, those that would win among them,
// and the others go by what was said of them.
TEST_F(ManyNodes, GoByWhatTheyWere) {
    Ratings ratings = fgd();
    rate(ratings, 200);
    ASSERT_TRUE(ratings.catch_up(*state_.view(), kNodes));
    const auto before = rate(ratings, 200);
    take(7, 400);
    EXPECT_EQ(rate(ratings, 200), rate_anew(200));
    for (int i = 20; i < 60; ++i)
        take(i, 400);
    const auto truth = rate_anew(200);
    const auto after = rate(ratings, 200);
    for (int i = 20; i < 60; ++i) {
        const bool is_among_fullest = i >= 60 - static_cast<int>(Ratings::kFullestAnew);
        EXPECT_TRUE(after[i] == truth[i] || (!is_among_fullest && after[i] == before[i])) << i;
    }
    EXPECT_NE(after, truth);
    const auto winner = std::ranges::max_element(after) - after.begin();
    EXPECT_EQ(after[winner], truth[winner]);
    EXPECT_TRUE(ratings.catch_up(*state_.view(), kNodes));
    EXPECT_EQ(rate(ratings, 200), truth);
}

// Goal: who asks what would be is remembered like any other: of more kinds than can be, those that
// were asked for longest ago are forgotten.
TEST_F(ManyNodes, ForgetWhatRoomWasAskedForLongestAgo) {
    constexpr int kKinds = 256;
    const Ratings ratings = fgd();
    const auto view = state_.view();
    const NodeView& node = *view->row(0).node;
    const auto ask = [&](int from, int to) {
        for (int milli = from; milli < to; ++milli) {
            const PodAsk pod = build::ask(build::pod("asks", build::native(mebibytes(milli))));
            (void)ratings.rate_room(node, node.offer(), pod);
        }
    };
    ask(1, kKinds + 1);
    ask(1, kKinds / 2);
    const auto first = ratings.kinds();
    ask(kKinds + 1, kKinds + kKinds / 2);
    const auto then = ratings.kinds();
    EXPECT_EQ(then.size(), first.size());
    const auto is_known = [&](int milli) {
        return std::ranges::any_of(then, [&](const Task& kind) { return kind.milli == milli; });
    };
    for (int milli = 1; milli < kKinds / 2; ++milli) {
        EXPECT_TRUE(is_known(milli)) << milli;
        EXPECT_TRUE(is_known(kKinds + milli)) << milli;
    }
}

// Goal: those who ask while others catch up, and forget all, get what is known or the last place.
TEST_F(ManyNodes, AreAskedAboutMeanwhile) {
    Ratings ratings = fgd();
    const auto view = state_.view();
    std::jthread catching([&](const std::stop_token& stop) {
        while (!stop.stop_requested())
            ratings.catch_up(*view, 50);
    });
    std::map<int, std::vector<std::int64_t>> truths;
    for (int round = 0; round < 3; ++round) {
        // Some 600 kinds: more than it remembers.
        for (int milli = 1; milli <= 600; ++milli) {
            auto& truth = truths[milli];
            if (truth.empty()) truth = rate_anew(milli);
            const PodAsk pod = build::ask(build::pod("asks", build::native(mebibytes(milli))));
            const auto rated = ratings.rate(*view, all_, pod);
            for (int i = 0; i < kNodes; ++i) {
                ASSERT_TRUE(rated[i] == NodeRater::kLast || rated[i] == truth[i]) << milli;
            }
        }
    }
    catching = {};
    EXPECT_TRUE(ratings.catch_up(*view, 1'000'000));
    for (int milli = 500; milli <= 600; ++milli)
        EXPECT_EQ(rate(ratings, milli), truths[milli]) << milli;
}

// Goal: what is remembered of a position is of the node that is there.
TEST_F(ManyNodes, AreNotTakenForOthers) {
    Ratings ratings = fgd();
    rate(ratings, 200);
    ASSERT_TRUE(ratings.catch_up(*state_.view(), kNodes));
    for (int i = 0; i < kNodes; ++i)
        take(i, 300);
    for (int i = 0; i < 10; ++i)
        state_.set_node(build::node(fmt::format("a{}", i), 1, kCard));  // before all others
    const auto view = state_.view();
    for (int i = 0; i < kNodes; ++i)
        all_[i] = view->position(fmt::format("n{:03}", i));
    const auto truth = rate_anew(200);
    const auto rated = rate(ratings, 200);
    for (int i = 0; i < kNodes; ++i)
        EXPECT_TRUE(rated[i] == truth[i] || rated[i] == NodeRater::kLast) << i;
    EXPECT_TRUE(ratings.catch_up(*view, 2 * kNodes));
    EXPECT_EQ(rate(ratings, 200), truth);
}

// Goal: where there is more to rate than there is time for, it is for kinds that somebody asked
// for.
TEST_F(ManyNodes, AreRatedFirstForKindsThatWereAskedFor) {
    Ratings ratings = fgd();
    std::vector<Task> expected;
    for (std::int16_t milli = 300; milli < 500; milli = static_cast<std::int16_t>(milli + 10))
        expected.push_back({.milli = milli, .count = 1});
    ratings.expect(expected);
    rate(ratings, 200);
    EXPECT_FALSE(ratings.catch_up(*state_.view(), kNodes)) << "nobody asked for the others";
    EXPECT_EQ(rate(ratings, 200), rate_anew(200));
}

// Goal: kinds that nobody has asked for for long are not handed on, those of late are.
TEST_F(ManyNodes, AreRatedForKindsOfLate) {
    Ratings first = fgd();
    rate(first, 200);
    Ratings second = fgd();
    second.expect_those_of(first);
    EXPECT_EQ(second.kinds(), first.kinds());
    rate(second, 300);
    Ratings third = fgd();
    third.expect_those_of(second);
    EXPECT_EQ(third.kinds().size(), 2U);
    Ratings fourth = fgd();
    fourth.expect_those_of(third);
    EXPECT_EQ(fourth.kinds().size(), 2U);
    Ratings fifth = fgd();
    fifth.expect_those_of(fourth);
    ASSERT_EQ(fifth.kinds().size(), 1U);
    EXPECT_EQ(fifth.kinds()[0].milli, 300);
}

// Goal: of a pod whose rules leave a part of each node, those parts are rated behind the request.
TEST(Ratings, CatchUpWithWhatRulesLeave) {
    ClusterState state;
    std::vector<std::string> names;
    for (int i = 0; i < 40; ++i) {
        names.push_back(fmt::format("n{:02}", i));
        NodeInventory node = build::node(names.back(), 4, kCard);
        for (std::size_t card = 0; card < 4; ++card)
            node.gpus[card].links.nvlink = std::uint64_t{1} << (card ^ 1U);
        state.set_node(node);
        for (int card = 0; card < 4; ++card) {
            PodFacts pod = build::pod(fmt::format("{}-{}", names.back(), card),
                                      build::native(mebibytes(1 + 7 * i + 50 * card)));
            pod.card_rules.uuids = fmt::format("GPU-{}-{}", names.back(), card);
            const auto made = state.reserve(build::ask(pod), NodeName(names.back()));
            ASSERT_TRUE(made);
            state.set_pod(build::bound(pod, made->allocation));
        }
    }
    const auto view = state.view();
    std::vector<std::uint32_t> all;
    for (const std::string& name : names)
        all.push_back(view->position(name));
    PodFacts pod = build::pod("p", build::native(mebibytes(300), 2));
    pod.card_rules.links = "nvlink";
    const PodAsk ask = build::ask(pod);
    const std::vector<MixClass> mix = {{0, 300, 1, kAnyModel, 0.7}, {0, 550, 1, kAnyModel, 0.3}};
    const auto make = [&] { return (*find_policy_option("fgd"))->make({.mix = mix}); };
    std::vector<std::int64_t> truth;
    const Ratings other(make());
    for (const std::uint32_t position : all)
        truth.push_back(other.rate(*view, {&position, 1}, ask)[0]);
    Ratings ratings(make());
    ASSERT_TRUE(ratings.catch_up(*view, 1'000));
    const auto first = ratings.rate(*view, all, ask);
    EXPECT_NE(first, truth);
    for (std::size_t i = 0; i < all.size(); ++i)
        EXPECT_TRUE(first[i] == truth[i] || first[i] == NodeRater::kLast) << i;
    EXPECT_TRUE(ratings.catch_up(*view, 1'000));
    EXPECT_EQ(ratings.rate(*view, all, ask), truth);
}

// Goal: a pod for which the engine has no terms, or that fits in bytes and not in thousandths, is
// placed all the same, by best fit.
TEST(Ratings, HasNoSayWhereItHasNoTerms) {
    const Ratings ratings((*find_policy_option("spread"))->make({}));
    ClusterState state;
    state.set_node(build::node("n0", 1, gibibytes(16)));
    PodFacts pod = build::pod("p", build::native(gibibytes(4)));
    pod.containers.insert(
        pod.containers.begin(),
        build::container("prepare", {{"tessera.dev/gpu", "1"}, {"tessera.dev/gpu-memory", "4Gi"}},
                         ContainerKind::init));
    const auto view = state.view();
    const std::uint32_t position = view->position("n0");
    EXPECT_EQ(ratings.rate(*view, {&position, 1}, build::ask(pod))[0], NodeRater::kLast);
    EXPECT_TRUE(state.reserve(build::ask(pod), NodeName("n0"), &ratings));

    // A card of 3 MiB, of which pods take one each: a third of it is 334 thousandths.
    state.set_node(build::node("n1", 1, mebibytes(3)));
    for (const auto* name : {"a", "b", "c"}) {
        const PodFacts tiny = build::pod(name, build::native(mebibytes(1)));
        EXPECT_TRUE(state.reserve(build::ask(tiny), NodeName("n1"), &ratings)) << name;
    }
    const PodFacts more = build::pod("d", build::native(mebibytes(1)));
    EXPECT_FALSE(state.reserve(build::ask(more), NodeName("n1"), &ratings));
}

// Goal: under every policy several cards are near each other, by the pod's own wish or not, and
// single ones leave pairs whole.
TEST(Ratings, KeepToLinks) {
    NodeInventory node = build::node("n", 4, gibibytes(16));
    for (std::size_t card = 0; card < 4; ++card)
        node.gpus[card].links.nvlink = std::uint64_t{1} << ((card + 2) % 4);
    for (const FleetPolicyRow& row : fleet_policies()) {
        if (row.is_simulated_only) continue;
        const Ratings ratings(row.make({}));
        ClusterState state;
        state.set_node(node);
        const auto place = [&](const char* name, std::vector<ContainerSpec> containers,
                               const char* links) {
            PodFacts pod = build::pod(name, std::move(containers));
            pod.card_rules.links = links;
            std::set<int> cards;
            const auto made = state.reserve(build::ask(pod), NodeName("n"), &ratings);
            if (!made) return cards;
            for (const GpuShare& share : made->allocation.containers[0].gpus)
                cards.insert(share.index);
            state.set_pod(build::bound(pod, made->allocation));
            return cards;
        };
        const auto are_pair = [](const std::set<int>& cards) {
            return cards == std::set{0, 2} || cards == std::set{1, 3};
        };
        EXPECT_TRUE(are_pair(place("whole", build::whole(2), ""))) << row.name;
        EXPECT_TRUE(are_pair(place("shares", build::native(gibibytes(3), 2), "nvlink")))
            << row.name;
        state.remove_pod(PodUid("uid-whole"));
        state.remove_pod(PodUid("uid-shares"));
        std::set<int> singles = place("one", build::whole(1), "");
        singles.merge(place("two", build::whole(1), ""));
        EXPECT_TRUE(are_pair(singles)) << row.name;
    }
}

// Goal: a policy passes no near cards over because its first choice among them has no room.
TEST(Ratings, LooksOnAmongNearCards) {
    NodeInventory node = build::node("n", 4, gibibytes(80));
    node.gpus[1].memory = gibibytes(16);
    for (std::size_t card = 0; card < 4; ++card)
        node.gpus[card].links.numa = card == 3 ? 1 : 0;
    ClusterState state;
    state.set_node(node);
    PodFacts there = build::pod("there", build::native(gibibytes(40)));
    there.card_rules.uuids = "GPU-n-3";
    state.set_pod(build::bound(there, state.reserve(build::ask(there), NodeName("n"))->allocation));
    for (const FleetPolicyRow& row : fleet_policies()) {
        if (row.is_simulated_only) continue;
        const Ratings ratings(row.make({}));
        const PodFacts pod = build::pod("p", build::native(gibibytes(20), 2));
        const auto view = state.view();
        const NodeView& seen = *view->find("n");
        const auto fit = ratings.choose(seen, seen.offer(), build::ask(pod));
        ASSERT_TRUE(fit) << row.name;
        EXPECT_EQ(std::set<int>(fit->cards.begin(), fit->cards.end()), (std::set{0, 2}))
            << row.name;
    }
}

// Goal: a pod that insists is scored by the cards that it would get, not by others of the node.
TEST(Ratings, ScoresTheLinkedCards) {
    ClusterState state;
    for (const char* name : {"tight", "wide"}) {
        NodeInventory node = build::node(name, 4, gibibytes(16));
        node.gpus[2].links.nvlink = 0b1000;
        node.gpus[3].links.nvlink = 0b0100;
        state.set_node(node);
    }
    const auto fill = [&](const char* node, int card, int gib) {
        PodFacts pod = build::pod(fmt::format("{}-{}", node, card), build::native(gibibytes(gib)));
        pod.card_rules.uuids = fmt::format("GPU-{}-{}", node, card);
        const auto made = state.reserve(build::ask(pod), NodeName(node));
        state.set_pod(build::bound(pod, made->allocation));
    };
    fill("wide", 0, 12);  // the tightest cards of all, and not linked
    fill("wide", 1, 12);
    fill("tight", 2, 8);
    fill("tight", 3, 8);
    const Ratings ratings((*find_policy_option("binpack"))->make({}));
    PodFacts pod = build::pod("p", build::native(gibibytes(4), 2));
    const auto view = state.view();
    const std::vector<std::uint32_t> positions = {view->position("tight"), view->position("wide")};
    const auto anywhere = ratings.rate(*view, positions, build::ask(pod));
    EXPECT_LT(anywhere[0], anywhere[1]);
    pod.card_rules.links = "nvlink";
    const auto linked = ratings.rate(*view, positions, build::ask(pod));
    EXPECT_GT(linked[0], linked[1]);
}

// Goal: the policy's cards for a pod are not those that are kept for one behind it.
TEST(Ratings, LeavesWhatIsKeptForOthers) {
    NodeInventory node = build::node("n", 3, gibibytes(80));
    node.gpus[0].links.nvlink = 0b010;
    node.gpus[1].links.nvlink = 0b001;
    ClusterState state;
    state.set_node(node);
    PodFacts there = build::pod("there", build::native(gibibytes(40)));
    there.card_rules.uuids = "GPU-n-2";
    state.set_pod(build::bound(there, state.reserve(build::ask(there), NodeName("n"))->allocation));
    const PodFacts one = build::pod("one", build::native(gibibytes(10)));
    PodFacts two = build::pod("two", build::whole(2));
    two.card_rules.links = "nvlink";
    for (const PodFacts& pod : {one, two}) {
        state.set_pod(pod);
        state.promise(pod.uid, NodeName("n"), {});
    }
    const Ratings spread((*find_policy_option("spread"))->make({}));
    const auto made = state.reserve(build::ask(one), NodeName("n"), &spread);
    ASSERT_TRUE(made) << made.error().text;
    EXPECT_EQ(made->allocation.containers[0].gpus[0].index, 2);
    EXPECT_TRUE(state.reserve(build::ask(two), NodeName("n"), &spread));
}

}  // namespace
}  // namespace tessera
