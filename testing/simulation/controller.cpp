#include "testing/simulation/controller.hpp"

#include "domain/placement/binpack.hpp"

namespace tessera::simulation {
namespace {

constexpr std::size_t kBestNodes = 2;  // controller.def has 16, of more nodes than there are here

}  // namespace

Controller::Controller(Scene& scene, ApiServer& server, int life)
    : scene_(scene),
      life_(life),
      kube_(scene, server, "controller"),
      clock_(scene.loop),
      keeper_([this] { posted(); }),
      scheduler_(kube_, keeper_, binpack_policy(), kBestNodes, clock_),
      feed_(kube_, keeper_, scheduler_, metrics_, clock_),
      process_(scene.loop, "controller-" + std::to_string(life)) {
    process_.spawn([this] { feed_.follow_nodes({}); });
    process_.spawn([this] { feed_.follow_pods({}); });
    process_.spawn([this] { feed_.settle({}); });
}

Controller::~Controller() {
    process_.kill();
}

// Stands for the keeper's thread, which takes its turn a little later. The task that posted stops
// here for a moment, so that others may come between it and its change.
void Controller::posted() {
    if (!*turn_due_) {
        *turn_due_ = true;
        const std::weak_ptr<bool> alive = turn_due_;
        scene_.loop.after(scene_.rng.between(Time(1'000), Time(3ms)), [this, alive] {
            const auto due = alive.lock();
            if (!due) return;
            *due = false;
            keeper_.apply();
        });
    }
    if (scene_.loop.current() != nullptr) scene_.loop.yield();
}

std::size_t Controller::pending_count() {
    keeper_.apply();
    std::size_t count = 0;
    keeper_.post([&](ClusterState& state) { count = state.pending_count(); });
    keeper_.apply();
    return count;
}

}  // namespace tessera::simulation
