// What plans promise: when the moves are made one after the other, there is room for the waiting
// task, the policy puts each moved task where the plan says, and no GPU is allocated twice.
#include "simulator/churn/running_cluster.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "domain/placement/engine/policy.hpp"
#include "testing/builders/reaching_prop.hpp"

namespace tessera {
namespace {

constexpr int kModels = 2;

NodeShape any_shape() {
    return {.cpu_milli = *rc::gen::inRange(2, 6) * 8'000,
            .memory_mib = *rc::gen::inRange(2, 5) * 1'000,
            .gpus = *rc::gen::inRange(1, 5),
            .model = *rc::gen::inRange(0, kModels)};
}

PlacementTask any_task() {
    const auto milli = *rc::gen::elementOf(std::vector<std::int16_t>{0, 190, 500, 810, 1000, 1000});
    const auto gpus = *rc::gen::elementOf(std::vector<std::int16_t>{1, 1, 1, 2, 4});
    return {
        .cpu_milli = *rc::gen::inRange(0, 4) * 2'000,
        .memory_mib = *rc::gen::inRange(0, 4) * 200,
        .milli = milli,
        .count = milli == 0 ? std::int16_t{0} : gpus,
        .models = *rc::gen::elementOf(std::vector<ModelSet>{kAnyModel, kAnyModel, model_bit(0)})};
}

struct Runs {
    PlacementTask task;
    Placed place;
    bool movable = false;
};

// A full cluster from which a third of the tasks has ended.
class Scene {
  public:
    Scene(const std::vector<NodeShape>& shapes, PlacementPolicy& policy)
        : engine_(shapes), index_(engine_, policy), cluster_(shapes, index_, policy) {
        for (std::size_t number = 0; number < 60; ++number) {
            const PlacementTask task = any_task();
            const auto at = index_.choose(task, 0);
            if (!at) continue;
            const Placed place{static_cast<std::int32_t>(at->node), at->score.gpus};
            const bool movable = task.count > 0 && *rc::gen::inRange(0, 4) > 0;
            put(number, {task, place, movable});
        }
        for (std::size_t number = 0; number < 60; ++number) {
            if (runs_.contains(number) && *rc::gen::inRange(0, 3) == 0) take(number);
        }
    }

    // Whether the waiting tasks got room by moves.
    bool help(const WaitingTasks& waiting) {
        const auto moves = cluster_.moves_for(waiting, 6);
        if (!moves) return false;
        RC_ASSERT(std::ssize(*moves) == waiting.count);
        for (int i = 0; i < waiting.count; ++i) {
            for (const TaskMove& move : moves->at(static_cast<std::size_t>(i)))
                make(move);
            const auto at = index_.choose(waiting.task, 0, waiting.without);
            RC_ASSERT(at.has_value());
            put(1'000 + static_cast<std::size_t>(i),
                {waiting.task, {static_cast<std::int32_t>(at->node), at->score.gpus}, false});
        }
        return true;
    }

    [[nodiscard]] bool fits(const WaitingTasks& waiting) {
        return index_.choose(waiting.task, 0, waiting.without).has_value();
    }

    // The allocated and the free parts add up to each node's capacity.
    void check(const std::vector<NodeShape>& shapes) const {
        PlacementEngine rebuilt(shapes);
        for (const auto& [number, run] : runs_)
            rebuilt.place(static_cast<std::size_t>(run.place.node), run.task, run.place.gpus);
        for (std::size_t node = 0; node < shapes.size(); ++node)
            RC_ASSERT(rebuilt.load(node) == engine_.load(node));
    }

  private:
    void make(const TaskMove& move) {
        RC_ASSERT(runs_.contains(move.task));
        const Runs before = runs_.at(move.task);
        RC_ASSERT(before.movable);
        RC_ASSERT(before.place == move.from);
        const auto to = index_.choose(before.task, 0);
        RC_ASSERT(to.has_value());
        RC_ASSERT(static_cast<std::int32_t>(to->node) == move.to.node);
        RC_ASSERT(to->score.gpus == move.to.gpus);
        // The new place is taken before the old one is released: an engine that allocated a GPU
        // twice would abort.
        put(move.task, {before.task, move.to, true});
        engine_.release(static_cast<std::size_t>(move.from.node), before.task, move.from.gpus);
        cluster_.left(move.task, before.task, move.from);
    }
    void put(std::size_t number, const Runs& run) {
        engine_.place(static_cast<std::size_t>(run.place.node), run.task, run.place.gpus);
        cluster_.placed(number, run.task, run.place, run.movable);
        runs_.insert_or_assign(number, run);
    }
    void take(std::size_t number) {
        const Runs run = runs_.at(number);
        engine_.release(static_cast<std::size_t>(run.place.node), run.task, run.place.gpus);
        cluster_.left(number, run.task, run.place);
        runs_.erase(number);
    }

    PlacementEngine engine_;
    EngineIndex index_;
    RunningCluster cluster_;
    std::map<std::size_t, Runs> runs_;
};

REACHING_PROP(RunningCluster, PlansHold) {
    const auto shapes = *rc::gen::container<std::vector<NodeShape>>(
        static_cast<std::size_t>(*rc::gen::inRange(2, 7)), rc::gen::exec(any_shape));
    std::vector<MixSample> samples(6);
    for (MixSample& sample : samples)
        sample.task = any_task();
    const auto mix = target_mix(samples, 95);
    const std::string name =
        *rc::gen::elementOf(std::vector<std::string>{"binpack", "fgd", "expected-fill"});
    const auto policy = (*find_placement_policy(name))->make({.mix = mix, .sampling_seed = 1});
    Scene scene(shapes, *policy);
    for (int i = 0; i < 12; ++i) {
        std::vector<std::uint32_t> without;
        if (*rc::gen::inRange(0, 3) == 0) without.push_back(0);
        const WaitingTasks waiting{
            .task = any_task(), .count = *rc::gen::inRange(1, 3), .without = without};
        if (waiting.task.count == 0 || scene.fits(waiting)) continue;
        const bool helped = scene.help(waiting);
        scene.check(shapes);
        reached(helped);
        if (helped) break;
    }
}

}  // namespace
}  // namespace tessera
