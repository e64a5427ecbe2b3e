#include "testing/simulation/faulty_kube_api.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <optional>
#include <utility>

namespace tessera::simulation {
namespace {

// KubeClient::kOneObject, and the part of KubeApi::kBindTakes that it leaves to the API server.
constexpr Time kDeadline = 4s;
constexpr Time kBindDeadline = 3s;
constexpr Time kFreeze = 15s;  // longer than a Lease is valid
constexpr Time kLatency = 4ms;
constexpr Time kShortestPause = 100ms;
constexpr Time kLongestPause = 10s;
// The server ends each watch after kWatchLength. An idle watch checks after kWatchLook whether it
// was cut.
constexpr Time kWatchLength = 290s;
constexpr Time kWatchLook = 20s;
constexpr std::size_t kMostPerBatch = 8;
// A pod may be bound just before the request of its nomination is sent.
constexpr Time kLateNomination = 1s;

tl::unexpected<Error> no_answer() {
    return fail(Code::unavailable, "the API server does not answer");
}

// Adds one event of a watch to a batch. A deletion replaces earlier events of the object.
void take_node(const Change<NodeObject>& change, NodeChanges& batch) {
    const NodeName& name = change.object->inventory.name;
    if (!change.deleted) return batch.upserted.push_back(change.object->inventory);
    std::erase_if(batch.upserted, [&](const NodeInventory& node) { return node.name == name; });
    batch.deleted.push_back(name);
}

void take_pod(const Change<PodObject>& change, PodChanges& batch) {
    const PodUid& uid = change.object->info.uid;
    if (!change.deleted) return batch.upserted.push_back(change.object->info);
    std::erase_if(batch.upserted, [&](const PodInfo& pod) { return pod.uid == uid; });
    batch.deleted.push_back(uid);
}

// Important calls, which are rare, fail more often than others.
std::uint64_t weight(bool is_rare) {
    return is_rare ? 4 : 1;
}

}  // namespace

FaultyKubeApi::FaultyKubeApi(Scene& scene, ApiServer& server, std::string owner)
    : scene_(scene), server_(server), owner_(std::move(owner)) {}

FaultyKubeApi::~FaultyKubeApi() {
    for (const auto& late : late_) {
        late->orphan = true;
        if (scene_.over || !late->write || scene_.election || scene_.unpromised.write_without_lease)
            continue;
        const auto write = std::exchange(late->write, nullptr);
        if (scene_.rng.chance(500)) write();
    }
}

void FaultyKubeApi::write_later(Time latest, std::function<void()> write) {
    std::erase_if(late_, [](const auto& late) { return !late->write; });
    const auto late = std::make_shared<Late>(Late{.write = std::move(write)});
    late_.push_back(late);
    const Time now = scene_.loop.now();
    scene_.loop.at(scene_.rng.between(now, std::max(now, latest)), [&scene = scene_, late] {
        const auto landing = std::exchange(late->write, nullptr);
        if (!landing) return;
        if (late->orphan) scene.struck(Fault::write_of_the_dead, "");
        landing();
    });
}

// The caller notices a broken connection at once, and a silent one at the deadline.
tl::unexpected<Error> FaultyKubeApi::give_up(Time deadline) {
    Loop& loop = scene_.loop;
    loop.sleep(scene_.rng.chance(500) ? Time(1ms) : std::max(deadline - loop.now(), Time(0)));
    return no_answer();
}

// False if the caller has to give up.
bool FaultyKubeApi::reaches_the_server(Kind kind, Time deadline) {
    Loop& loop = scene_.loop;
    loop.sleep(scene_.delay(kLatency));
    if (loop.now() < server_.silent_until) return false;
    if (scene_.strikes(Fault::call_slow, weight(kind == Kind::bind)))
        loop.sleep(scene_.rng.between(Time(100ms), Time(3500ms)));
    if (loop.now() >= deadline || scene_.strikes(Fault::call_lost)) return false;
    if (kind == Kind::bind && scene_.unpromised.frozen_leader &&
        scene_.strikes(Fault::frozen_leader)) {
        loop.sleep(kFreeze);
    }
    return true;
}

// A request that was in flight when its process was killed, and may still arrive.
struct Wire {
    bool open;
    std::function<void()> land_later;
    ~Wire() {
        if (open && std::uncaught_exceptions() > 0) land_later();
    }
};

template <class T>
Result<T> FaultyKubeApi::exchange(Kind kind, std::function<Result<T>()> serve) {
    Loop& loop = scene_.loop;
    const bool reads = kind == Kind::read || kind == Kind::list;
    const std::uint64_t times = weight(kind == Kind::bind || kind == Kind::list);
    const Time begin = loop.now();
    const Time deadline = begin + (kind == Kind::bind ? kBindDeadline : kDeadline);
    const auto land_later = [&] {
        write_later(begin + KubeApi::kBindTakes, [serve] { (void)serve(); });
    };
    Wire wire{kind == Kind::bind && scene_.rng.chance(500), land_later};
    if (!reaches_the_server(kind, deadline)) return give_up(deadline);
    if (scene_.strikes(Fault::call_failed, times)) {
        loop.sleep(scene_.delay(kLatency));
        return fail(Code::unavailable, "API server answers 500");
    }
    if (scene_.strikes(Fault::call_refused, times)) {
        loop.sleep(scene_.delay(kLatency));
        if (reads || scene_.rng.chance(500)) {
            return fail(Code::permission_denied, "API server answers 403");
        }
        return fail(Code::conflict, "API server answers 409: the object has been modified");
    }
    if (!reads && scene_.strikes(Fault::write_late, times)) {
        land_later();
        wire.open = false;
        return give_up(deadline);
    }
    Result<T> answer = serve();
    wire.open = false;
    if (scene_.strikes(Fault::answer_lost, times)) return give_up(deadline);
    if (scene_.strikes(Fault::answer_slow, times)) {
        loop.sleep(scene_.rng.between(Time(100ms), Time(3500ms)));
    }
    loop.sleep(scene_.delay(kLatency));
    if (loop.now() > deadline && !reads) return no_answer();
    return answer;
}

Result<> FaultyKubeApi::bind(const PodUid& uid, const PodName& pod, const NodeName& node,
                             const StringMap& annotations) {
    auto answer = exchange<void>(Kind::bind, [=, &server = server_] {
        const auto done = server.bind(uid, pod, node, annotations);
        return done ? Result<>() : Result<>(fail(done.error()));
    });
    if (answer) bound_.try_emplace(uid, scene_.loop.now());
    return answer;
}

Result<PodInfo> FaultyKubeApi::get_pod(const PodName& name) {
    return exchange<PodInfo>(Kind::read, [&]() -> Result<PodInfo> {
        TRY(const PodPtr pod, server_.pod(name));
        return pod->info;
    });
}

Result<std::vector<NodeInventory>> FaultyKubeApi::list_nodes() {
    return exchange<std::vector<NodeInventory>>(Kind::read, [&] {
        std::vector<NodeInventory> out;
        for (const auto& [name, node] : server_.nodes())
            out.push_back(node->inventory);
        return Result<std::vector<NodeInventory>>(std::move(out));
    });
}

Result<std::vector<PodInfo>> FaultyKubeApi::list_pods(const NodeName& node) {
    return exchange<std::vector<PodInfo>>(Kind::read, [&] {
        std::vector<PodInfo> out;
        for (const auto& [name, pod] : server_.pods()) {
            if (node.empty() || pod->info.node == node) out.push_back(pod->info);
        }
        return Result<std::vector<PodInfo>>(std::move(out));
    });
}

Result<std::vector<NodePod>> FaultyKubeApi::list_node_pods(const NodeName& node) {
    TRY(auto pods, list_pods(node));
    std::vector<NodePod> out;
    for (PodInfo& pod : pods) {
        std::vector<ContainerSetup> setups;
        for (const ContainerSpec& container : pod.containers)
            setups.push_back({.name = container.name});
        out.push_back({std::move(pod), std::move(setups)});
    }
    return out;
}

Result<NodeShown> FaultyKubeApi::node_shows(const NodeName& name, const NodeWanted& wanted) {
    return exchange<NodeShown>(Kind::read, [&]() -> Result<NodeShown> {
        const auto at = server_.nodes().find(name);
        if (at == server_.nodes().end()) return fail(Code::not_found, "node not found");
        const NodeObject& shown = *at->second;
        return NodeShown{shows_all(shown.annotations, wanted.annotations) &&
                             shows_all(shown.labels, wanted.labels) &&
                             shows_all(shown.amounts, wanted.amounts),
                         shown.labels};
    });
}

// An agent always writes the current state of its node, and would correct a late write. So late
// writes are not simulated here.
Result<> FaultyKubeApi::set_node_metadata(const NodeName& node, const StringMap& annotations,
                                          const StringMap& labels) {
    return exchange<void>(Kind::read,
                          [&] { return server_.set_node_metadata(node, annotations, labels); });
}

Result<> FaultyKubeApi::set_node_resources(const NodeName& node, const StringMap& amounts) {
    return exchange<void>(Kind::read, [&] { return server_.set_amounts(node, amounts); });
}

Result<std::optional<Lease>> FaultyKubeApi::read() {
    return exchange<std::optional<Lease>>(
        Kind::read, [this] { return Result<std::optional<Lease>>(server_.lease()); });
}

Result<Lease> FaultyKubeApi::write(const Lease& lease) {
    return exchange<Lease>(Kind::write,
                           [lease, &server = server_] { return server.write_lease(lease); });
}

Result<bool> FaultyKubeApi::may_evict(const PodUid& uid, const PodName& pod) {
    return exchange<bool>(Kind::read, [&] { return server_.evict(uid, pod, true); });
}

Result<bool> FaultyKubeApi::evict(const PodUid& uid, const PodName& pod) {
    return exchange<bool>(Kind::write,
                          [=, &server = server_] { return server.evict(uid, pod, false); });
}

// The mark itself has no effect here. The preemptor that it names must have a higher priority.
Result<> FaultyKubeApi::mark_preempted(const PodUid& uid, const PodName& pod,
                                       const PodName& preemptor) {
    return exchange<void>(Kind::read, [&]() -> Result<> {
        const PodPtr victim = server_.pod(pod, uid);
        if (!victim) return fail(Code::conflict, "the object has been modified");
        if (was_more_important(preemptor, victim->info.priority)) return {};
        scene_.journal.violation(scene_.loop.now(),
                                 fmt::format("pod {} is evicted for {} of no higher priority",
                                             pod.name, preemptor.name));
        return {};
    });
}

// Whether a pod of that name has, or recently had, a priority above `priority`. A newer pod may
// have taken the name since.
bool FaultyKubeApi::was_more_important(const PodName& name, int priority) const {
    constexpr std::ptrdiff_t kRecent = 300;
    const auto now = server_.pod(name);
    if (now && (*now)->info.priority > priority) return true;
    const auto& log = server_.pod_log();
    const auto recent = std::min(kRecent, std::ssize(log));
    return std::any_of(log.end() - recent, log.end(), [&](const Change<PodObject>& change) {
        return change.object->info.name == name && change.object->info.priority > priority;
    });
}

Result<> FaultyKubeApi::nominate(const PodUid& uid, const PodName& pod, const NodeName& node) {
    return exchange<void>(
        Kind::write, [=, &server = server_] { return server.nominate(uid, pod, node, false); });
}

Result<> FaultyKubeApi::nominate_ahead(const PodUid& uid, const PodName& pod,
                                       const NodeName& node) {
    check_unbound(uid, pod);
    return exchange<void>(Kind::write,
                          [=, &server = server_] { return server.nominate(uid, pod, node, true); });
}

Result<> FaultyKubeApi::withdraw(const PodUid& uid, const PodName& pod, const NodeName& node) {
    return exchange<void>(Kind::write,
                          [=, &server = server_] { return server.withdraw(uid, pod, node); });
}

// A process must not nominate a pod that it has bound.
void FaultyKubeApi::check_unbound(const PodUid& uid, const PodName& name) const {
    const auto bound = bound_.find(uid);
    const PodPtr pod = server_.pod(name, uid);  // null: gone, and the watch may not show that yet
    if (bound == bound_.end() || !pod || pod->info.node.empty()) return;
    const std::chrono::duration<double> since = scene_.loop.now() - bound->second;
    if (since <= kLateNomination) return;
    scene_.journal.violation(scene_.loop.now(),
                             fmt::format("pod {} ({}) is nominated {:.1f} s after it was bound",
                                         name.name, uid.str(), since.count()));
}

// False if a stop was requested.
bool FaultyKubeApi::pause(Time duration, const std::stop_token& stop) {
    const std::stop_callback wake(stop, [this, me = scene_.loop.me()] { scene_.loop.wake(me); });
    scene_.loop.wait(duration);
    return !stop.stop_requested();
}

// Watches until the server ends the watch, or it is cut. Advances `position`.
template <class Object, class Changes, class Take>
Result<> FaultyKubeApi::watch(const std::vector<Change<Object>>& log, std::size_t& position,
                              const Take& take, const std::function<void(Changes)>& sink,
                              const std::stop_token& stop) {
    Loop& loop = scene_.loop;
    const Time end = loop.now() + kWatchLength;
    loop.sleep(scene_.delay(kLatency));
    while (loop.now() < end && !stop.stop_requested()) {
        if (loop.now() < server_.silent_until) return no_answer();
        if (scene_.strikes(Fault::watch_cut)) return no_answer();
        if (scene_.strikes(Fault::watch_expired)) {
            return fail(Code::expired, "too old resource version");
        }
        if (position == log.size()) {
            server_.wake_at_change(loop.me());
            pause(kWatchLook, stop);
            loop.sleep(scene_.delay(kLatency));
            continue;
        }
        if (scene_.strikes(Fault::watch_stalled)) {
            if (!pause(scene_.rng.between(Time(500ms), Time(20s)), stop)) break;
        }
        Changes batch;
        const std::size_t most = 1 + scene_.rng.below(kMostPerBatch);
        for (std::size_t i = 0; i < most && position < log.size(); ++i)
            take(log[position++], batch);
        sink(std::move(batch));
        loop.sleep(scene_.delay(kLatency));
    }
    return {};
}

template <class Object, class Changes, class Take>
void FaultyKubeApi::follow(const std::vector<Change<Object>>& log,
                           const std::function<Changes()>& list, const Take& take,
                           const std::function<void(Changes)>& sink, const ErrorSink& on_error,
                           const std::stop_token& stop) {
    Time wait = kShortestPause;
    std::optional<std::size_t> position;
    while (!stop.stop_requested()) {
        Result<> outcome;
        if (!position) {
            std::size_t at = 0;
            auto listed = exchange<Changes>(Kind::list, [&] {
                at = log.size();
                return Result<Changes>(list());
            });
            if (listed) {
                position = at;
                sink(*std::move(listed));
            } else {
                outcome = fail(listed.error());
            }
        }
        if (outcome) outcome = watch<Object, Changes>(log, *position, take, sink, stop);
        if (outcome) {
            wait = kShortestPause;
            pause(wait, stop);
            continue;
        }
        if (stop.stop_requested()) return;
        on_error(outcome.error());
        if (outcome.error().code == Code::expired) position.reset();
        pause(scene_.rng.between(wait, wait * 3 / 2), stop);
        wait = std::min(wait * 2, kLongestPause);
    }
}

void FaultyKubeApi::follow_nodes(const std::function<void(NodeChanges)>& sink,
                                 const ErrorSink& on_error, std::stop_token stop) {
    const std::function<NodeChanges()> list = [this] {
        NodeChanges all;
        all.listed.emplace();
        for (const auto& [name, node] : server_.nodes()) {
            all.upserted.push_back(node->inventory);
            all.listed->insert(name);
        }
        return all;
    };
    follow<NodeObject, NodeChanges>(server_.node_log(), list, take_node, sink, on_error, stop);
}

void FaultyKubeApi::follow_pods(const std::function<void(PodChanges)>& sink,
                                const ErrorSink& on_error, std::stop_token stop) {
    const std::function<PodChanges()> list = [this] {
        PodChanges all;
        all.listed.emplace();
        for (const auto& [name, pod] : server_.pods()) {
            all.upserted.push_back(pod->info);
            all.listed->insert(pod->info.uid);
        }
        return all;
    };
    follow<PodObject, PodChanges>(server_.pod_log(), list, take_pod, sink, on_error, stop);
}

}  // namespace tessera::simulation
