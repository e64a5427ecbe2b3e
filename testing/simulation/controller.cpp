#include "testing/simulation/controller.hpp"

#include <utility>

#include "app/common/periodic.hpp"

namespace tessera::simulation {
namespace {

constexpr std::size_t kBestNodes = 2;  // controller.def has 16, more than the nodes of a run

}  // namespace

Controller::Controller(Scene& scene, ApiServer& server, int replica, int life)
    : scene_(scene),
      replica_(replica),
      life_(life),
      url_("http://controller-" + std::to_string(replica)),
      kube_(scene, server, "controller"),
      clock_(scene.loop),
      cache_([this] { posted(); }),
      election_(!scene.election
                    ? nullptr
                    : std::make_shared<Election>(
                          kube_, clock_, election_options(),
                          [this](int term) {
                              informers_.relist_pods([election = std::weak_ptr(election_), term] {
                                  if (const auto now = election.lock()) now->begin_term(term);
                              });
                          })),
      scheduler_(kube_, cache_, clock_, {.best_nodes = kBestNodes, .fence = fence()}),
      preemption_({kube_, cache_, metrics_, clock_, fence()}),
      informers_(kube_, cache_, scheduler_, metrics_, clock_),
      process_(scene.loop, "controller-" + std::to_string(replica)) {
    process_.spawn([this] { informers_.follow_nodes({}); });
    process_.spawn([this] { informers_.follow_pods({}); });
    process_.spawn([this] { informers_.reconcile({}); });
    if (election_) process_.spawn([this] { elect(); });
    if (!scene.priorities) return;
    preempting_ = true;
    process_.spawn([this] {
        repeat(clock_, SelfPreemption::kPeriod, preempting_ends_.get_token(),
               [this](const std::stop_token& stop) { preemption_.run_round(stop); });
        preempting_ = false;
    });
}

WriteFence Controller::fence() const {
    if (!election_) return {};
    return WriteFence([this](auto within) { return election_->begin_write(within); });
}

// In scheduler mode, nothing is redirected. A read of kube-scheduler's Lease takes some time, and
// may fail (own_scheduler.hpp).
ElectionOptions Controller::election_options() {
    ElectionOptions options = {.identity = std::to_string(replica_)};
    if (!scene_.scheduler_mode) {
        options.url = url_;
        return options;
    }
    options.is_candidate = [this] {
        const bool leads = scene_.leading_scheduler == replica_;
        scene_.loop.sleep(scene_.delay(1ms));
        if (!scene_.strikes(Fault::call_failed)) own_scheduler_leads_ = leads;
        return own_scheduler_leads_;
    };
    return options;
}

std::optional<FilterAnswer> Controller::filter(const ExtenderArgs& args) {
    return preemption_.filter(scheduler_, args,
                              [this] { return !leads() && !leader_url().empty(); });
}

// Like programs/controller/leadership.cpp, which ends after the server has answered its last
// request.
void Controller::elect() {
    election_->run(election_ends_.get_token());
    retired_ = true;
}

void Controller::retire() {
    if (std::exchange(retiring_, true)) return;
    process_.spawn([this] {
        while (under_way_ > 0)
            scene_.loop.sleep(5ms);
        preempting_ends_.request_stop();
        while (preempting_)
            scene_.loop.sleep(5ms);
        election_ends_.request_stop();
        if (!election_) retired_ = true;
    });
}

Controller::~Controller() {
    process_.kill();
}

// Simulates the owner thread of ClusterCache, which applies changes a little later. The task that
// posted yields here, so that other tasks may run before its change is applied.
void Controller::posted() {
    if (!*turn_due_) {
        *turn_due_ = true;
        const std::weak_ptr<bool> alive = turn_due_;
        scene_.loop.after(scene_.rng.between(Time(1'000), Time(3ms)), [this, alive] {
            const auto due = alive.lock();
            if (!due) return;
            *due = false;
            cache_.apply();
        });
    }
    if (scene_.loop.current() != nullptr) scene_.loop.yield();
}

std::size_t Controller::pending_count() {
    cache_.apply();
    std::size_t count = 0;
    cache_.post([&](ClusterState& state) { count = state.pending_count(); });
    cache_.apply();
    return count;
}

}  // namespace tessera::simulation
