// Goal: cached values of the state and the bounds equal newly computed ones. Method: random
// clusters with pods of similar kinds. Pods leave and enter, and some of these steps are undone.
// After each step every pod's place is compared with that of a new state, and the bounds with new
// ones.
#include "domain/defrag/defrag_state.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <string>

#include "domain/defrag/bounds.hpp"
#include "domain/scheduling/state.hpp"
#include "testing/builders/builders.hpp"
#include "testing/builders/reaching_prop.hpp"
#include "testing/fakes/last_scorer.hpp"

namespace tessera::defrag {
namespace {

constexpr int kGpuGib = 12;

// Uniform for any test size: small test cases would have nothing to move.
int pick(int from, int to) {
    return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(from, to));
}

bool one_in(int many) {
    return pick(0, many) == 0;
}

class AnyCluster {
  public:
    AnyCluster() {
        const int nodes = pick(2, 6);
        for (int i = 0; i < nodes; ++i)
            add_node("n" + std::to_string(i));
        if (one_in(2)) add_nominee();
        cluster_.nodes = state_.snapshot()->nodes();
        if (one_in(4)) cluster_.closed.insert(cluster_.nodes.front()->inventory.name);
    }

    [[nodiscard]] const Cluster& cluster() const { return cluster_; }
    [[nodiscard]] Goal any_goal() const {
        if (one_in(2)) return FreeGpus{pick(1, 3)};
        PodRequest waits = build::request(build::pod(
            "waits", one_in(2) ? build::whole(pick(1, 3)) : build::native(gibibytes(pick(6, 12)))));
        waits.host = {pick(0, 3) * 1'000, gibibytes(pick(1, 8))};
        waits.priority = pick(0, 3);
        return RoomFor{std::move(waits), any_barred()};
    }

  private:
    [[nodiscard]] Barred any_barred() const {
        return barred_.at(static_cast<std::size_t>(std::max(0, pick(-2, 3))));
    }
    void add_node(const std::string& name) {
        NodeInventory node = build::node(name, pick(1, 4), gibibytes(kGpuGib));
        node.host = {pick(3, 9) * 1'000, gibibytes(pick(8, 17))};
        state_.set_node(node);
        for (const Gpu& gpu : node.gpus) {
            int left = kGpuGib;
            for (int i = pick(0, 4); i > 0; --i) {
                const int gib = *rc::gen::element(2, 3, 4, 6);
                if (gib > left) continue;
                left -= gib;
                add_pod(node.name, gpu, gib);
            }
        }
    }
    void add_pod(const NodeName& node, const Gpu& gpu, int gib) {
        PodInfo pod = build::pod("p" + std::to_string(pods_++), build::native(gibibytes(gib)));
        pod.host = {*rc::gen::element(0, 500, 2'000), gibibytes(*rc::gen::element(1, 3))};
        pod.priority = pick(0, 3);
        if (!one_in(5)) {
            cluster_.movable.push_back(
                {.request = build::request(pod),
                 .barred = any_barred(),
                 .scorer = one_in(3) ? last_ : nullptr,
                 .made = *rc::gen::element(Replacement::at_once, Replacement::once_gone,
                                           Replacement::unknown)});
        }
        state_.set_pod(build::bound(
            pod,
            build::allocation(pod, node.str(),
                              {{.uuid = gpu.uuid, .index = gpu.index, .memory = gibibytes(gib)}})));
    }
    void add_nominee() {
        PodInfo pod = build::pod("nominee", build::native(gibibytes(pick(2, 9))));
        pod.priority = pick(0, 3);
        pod.nominated = NodeName("n0");
        state_.set_pod(pod);
    }

    const std::shared_ptr<const NodeScorer> last_ = std::make_shared<const LastScorer>();
    const std::array<Barred, 3> barred_{
        nullptr, std::make_shared<const std::set<NodeName>>(std::set{NodeName("n0")}),
        std::make_shared<const std::set<NodeName>>(std::set{NodeName("n1"), NodeName("n2")})};
    ClusterState state_;
    Cluster cluster_;
    int pods_ = 0;
};

struct Step {
    std::size_t pod_index;
    std::optional<Place> place;  // nothing: it only left
};

void make(DefragState& state, const Step& step) {
    state.leave(step.pod_index);
    if (step.place) state.enter(step.pod_index, *step.place);
}

void undo(DefragState& state, const Step& step) {
    if (step.place) state.undo_enter(step.pod_index, *step.place);
    state.undo_leave(step.pod_index);
}

// A state and its bounds, as the search uses them.
class Tried {
  public:
    Tried(const Cluster& cluster, const Goal& goal)
        : cluster_(cluster),
          goal_(goal),
          state_(cluster, pod_to_place_, most_kinds_),
          bounds_(state_, goal_) {
        if (const auto* free = std::get_if<FreeGpus>(&goal))
            free_wanted_ = state_.free_capacity().free_gpus + free->gpus;
    }

    void any_step() {
        if (!made_.empty() && one_in(3)) {
            const Step last = std::move(made_.back());
            made_.pop_back();
            undo(state_, last);
            return refresh(last);
        }
        const auto some = static_cast<std::size_t>(pick(0, static_cast<int>(count())));
        if (state_.placed_pods()[some].moved) return;
        Step step{some, one_in(4) ? std::nullopt : state_.place(some)};
        make(state_, step);
        refresh(step);
        made_.push_back(std::move(step));
    }
    // Whether any pod has a place.
    bool places_are_those_of_a_new_layout() {
        bool any = false;
        for (std::size_t i = 0; i < count(); ++i) {
            if (state_.placed_pods()[i].moved) continue;
            DefragState rebuilt(cluster_, pod_to_place_);
            for (const Step& step : made_)
                make(rebuilt, step);
            const auto place = state_.place(i);
            const auto found = rebuilt.place(i);
            RC_ASSERT(place.has_value() == found.has_value());
            // Without the inner parentheses RC_ASSERT evaluates both sides.
            RC_ASSERT((!place || place->is_same(*found)));
            RC_ASSERT(state_.priced_kinds() <= most_kinds_);
            any |= place.has_value();
        }
        return any;
    }
    void bounds_are_new_ones() {
        Goal goal = goal_;
        if (auto* free = std::get_if<FreeGpus>(&goal))
            free->gpus = free_wanted_ - state_.free_capacity().free_gpus;
        const Bounds rebuilt(state_, goal);
        RC_ASSERT(bounds_.moves() == rebuilt.moves());
        RC_ASSERT(bounds_.who_may_lower() == rebuilt.who_may_lower());
        RC_ASSERT(bounds_.fits_on() == rebuilt.fits_on());
    }
    [[nodiscard]] std::size_t count() const { return state_.placed_pods().size(); }

  private:
    void refresh(const Step& step) {
        bounds_.refresh(state_.placed_pods()[step.pod_index].node);
        if (step.place) bounds_.refresh(step.place->node);
    }

    const PodUid nobody_;
    const PodToPlace pod_to_place_{nobody_, 1};
    const Cluster& cluster_;
    const Goal goal_;
    const std::size_t most_kinds_ = static_cast<std::size_t>(pick(1, 5));
    DefragState state_;
    Bounds bounds_;
    int free_wanted_ = 0;
    std::vector<Step> made_;
};

REACHING_PROP(DefragLayout, RemembersWhatItWouldFindAnew) {
    const AnyCluster any;
    Tried tried(any.cluster(), any.any_goal());
    if (tried.count() == 0) return;
    bool is_placed = false;
    for (int step = 0; step < 12; ++step) {
        tried.any_step();
        is_placed |= tried.places_are_those_of_a_new_layout();
        tried.bounds_are_new_ones();
    }
    reached(is_placed);
}

}  // namespace
}  // namespace tessera::defrag
