#include "testing/simulation/controller.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/common/periodic.hpp"
#include "domain/placement/nominees.hpp"

namespace tessera::simulation {
namespace {

constexpr std::size_t kBestNodes = 2;  // controller.def has 16, more than the nodes of a run
// Nominator::kPeriod would make most steps of a run rounds without work.
const std::vector<Time> kNominationPeriods = {200ms, 1s, 3s};

// Whether the pod would fit on the node if the reservations ahead of their turn did not count that
// must not: those of younger pods of its priority. True only if that is certain.
bool fits_before_younger(const NodeInfo& node, const PodRequest& pod) {
    NodeInfo others = node;
    std::erase_if(others.nominees, [&](const Nominee& nominee) {
        return nominee.is_ahead && nominee.pod->priority == pod.priority &&
               nominee.pod->created >= pod.created;
    });
    const bool is_nominee = std::ranges::any_of(
        node.nominees, [&](const Nominee& nominee) { return nominee.pod->uid == pod.uid; });
    if (!node.blocked.empty() || is_nominee || others.nominees.size() == node.nominees.size())
        return false;
    Placer placer(pod.containers);
    return try_left(placer, others, {.uid = pod.uid, .priority = pod.priority}) != nullptr;
}

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
                              leads_since_ = scene_.loop.now();
                              informers_.relist_pods([election = std::weak_ptr(election_), term] {
                                  if (const auto now = election.lock()) now->begin_term(term);
                              });
                          })),
      scheduler_(kube_, cache_, clock_, {.best_nodes = kBestNodes, .fence = fence()}),
      preemption_({kube_, cache_, metrics_, clock_, fence()}),
      nominator_(nominator_tools()),
      informers_(kube_, cache_, scheduler_, metrics_, clock_),
      process_(scene.loop, "controller-" + std::to_string(replica)) {
    process_.spawn([this] { informers_.follow_nodes({}); });
    process_.spawn([this] { informers_.follow_pods({}); });
    process_.spawn([this] { informers_.reconcile({}); });
    if (election_) process_.spawn([this] { elect(); });
    if (scene.priorities) {
        repeat_round(SelfPreemption::kPeriod,
                     [this](const std::stop_token& stop) { preemption_.run_round(stop); });
    }
    if (scene.nominates) {
        repeat_round(scene.rng.pick(kNominationPeriods),
                     [this](const std::stop_token& stop) { nominator_.run_round(stop); });
    }
}

template <class Round>
void Controller::repeat_round(Time period, const Round& round) {
    ++rounds_;
    process_.spawn([this, period, round] {
        repeat(clock_, std::chrono::duration_cast<std::chrono::milliseconds>(period),
               rounds_end_.get_token(), round);
        --rounds_;
    });
}

// The queues of a run are short, so few pods are left to kube-scheduler, or none.
NominatorTools Controller::nominator_tools() {
    NominatorTools tools = {.nominations = kube_,
                            .cache = cache_,
                            .metrics = metrics_,
                            .clock = clock_,
                            .fence = fence(),
                            .writers = 0};
    if (!scene_.nominates) return tools;
    tools.schedulers = {std::string(kSchedulerName)};
    tools.skip = scene_.rng.below(3);
    tools.window = 1 + scene_.rng.below(8);
    return tools;
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
    const auto is_sent_on = [this] { return !leads() && !leader_url().empty(); };
    if (nominator_.is_on() && is_sent_on()) return std::nullopt;
    const auto before = cache_.snapshot();
    auto answer = preemption_.filter(scheduler_, args, is_sent_on);
    if (!answer) return answer;
    if (answer->fitting.empty() && cache_.snapshot() == before) check_refusal(*before, args);
    nominator_.note(args, *answer);
    for (const std::size_t at : answer->fitting)
        last_offers_[{args.pod.uid, NodeName(std::string(args.names[at]))}] = scene_.loop.now();
    return answer;
}

// A reservation ahead of its turn must not refuse an older pod of its priority.
void Controller::check_refusal(const Snapshot& snapshot, const ExtenderArgs& args) {
    const auto pod = request_of(args.pod);
    if (!pod || snapshot.unobserved(pod->uid) != nullptr) return;
    for (const std::string_view name : args.names) {
        const NodeInfo* node = snapshot.find(name);
        if (node == nullptr || !fits_before_younger(*node, *pod)) continue;
        scene_.journal.violation(scene_.loop.now(),
                                 fmt::format("pod {} ({}) is refused on {} for a younger pod",
                                             pod->name.name, pod->uid.str(), name));
    }
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
        rounds_end_.request_stop();
        while (rounds_ > 0)
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
