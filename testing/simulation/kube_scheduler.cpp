#include "testing/simulation/kube_scheduler.hpp"

#include <algorithm>
#include <deque>

namespace tessera::simulation {
namespace {

constexpr Time kTimeout = 15s;  // scheduler-config.yaml of the Helm chart, httpTimeout
constexpr Time kFirstBackoff = 1s;
constexpr Time kLongestBackoff = 10s;
constexpr Time kFlush = 300s;  // until an unschedulable pod is tried again

Time backoff(int attempts) {
    Time out = kFirstBackoff;
    for (int i = 1; i < attempts && out < kLongestBackoff; ++i)
        out *= 2;
    return std::min(out, kLongestBackoff);
}

// A request that owns its texts, because it may outlive the caller.
struct Request {
    std::deque<std::string> texts;
    ExtenderArgs args;
};

std::shared_ptr<const Request> request_of(const PodInfo& pod, const std::vector<NodeName>& nodes) {
    auto out = std::make_shared<Request>();
    out->args.pod = pod;
    for (const NodeName& node : nodes) {
        out->args.names.push_back(out->texts.emplace_back(node.str()));
        out->args.words.push_back(out->texts.emplace_back("\"" + node.str() + "\""));
    }
    return out;
}

}  // namespace

KubeScheduler::KubeScheduler(Scene& scene, ApiServer& server, Service& service)
    : scene_(scene),
      server_(server),
      service_(service),
      pods_(scene, 8ms, [this](const Change<PodObject>& change) { take(change); }),
      node_informer_(scene, 8ms, [this](const Change<NodeObject>& change) { take_node(change); }) {
    server.on_pod([this](const Change<PodObject>& change) { pods_.hear(change); });
    server.on_node([this](const Change<NodeObject>& change) { node_informer_.hear(change); });
}

void KubeScheduler::start() {
    process_ = std::make_unique<Process>(scene_.loop, "scheduler");
    pods_.open();
    node_informer_.open();
    for (const auto& [name, node] : server_.nodes())
        nodes_[name] = true;
    for (const auto& [name, pod] : server_.pods())
        know(pod);
    process_->spawn([this] { schedule(); });
}

void KubeScheduler::stop() {
    pods_.close();
    node_informer_.close();
    process_.reset();
    queue_.clear();
    nodes_.clear();
}

void KubeScheduler::know(const PodPtr& pod) {
    const PodInfo& info = pod->info;
    if (!info.node.empty() || info.finished || info.terminating) {
        queue_.erase(info.uid);
        return;
    }
    auto [at, is_new] = queue_.try_emplace(info.uid);
    Waiting& waiting = at->second;
    const bool is_changed = !is_new && waiting.pod->info.nominated != info.nominated;
    waiting.pod = pod;
    if (is_new) waiting.due = scene_.loop.now();
    if (is_changed && waiting.fits_nowhere) {
        waiting.fits_nowhere = false;
        waiting.due = scene_.loop.now();
    }
    scene_.loop.wake(idle_);
}

void KubeScheduler::take(const Change<PodObject>& change) {
    const PodInfo& info = change.object->info;
    const bool leaves = change.deleted || info.finished || info.terminating;
    if (leaves) queue_.erase(info.uid);
    if (leaves && !info.node.empty()) room_may_be_there();
    if (!leaves) know(change.object);
}

void KubeScheduler::take_node(const Change<NodeObject>& change) {
    if (change.deleted) {
        nodes_.erase(change.object->inventory.name);
    } else {
        nodes_[change.object->inventory.name] = true;
    }
    room_may_be_there();
}

void KubeScheduler::room_may_be_there() {
    for (auto& [uid, waiting] : queue_) {
        if (!waiting.fits_nowhere) continue;
        waiting.fits_nowhere = false;
        waiting.due = std::min(waiting.due, scene_.loop.now() + backoff(waiting.attempts));
    }
    scene_.loop.wake(idle_);
}

KubeScheduler::Waiting* KubeScheduler::next() {
    // Chooses the pod with the highest priority among those that are due.
    const auto rank = [now = scene_.loop.now()](const Waiting& waiting) {
        const bool is_due = waiting.due <= now;
        return std::tuple(!is_due, is_due ? -waiting.pod->info.priority : 0, waiting.due);
    };
    Waiting* first = nullptr;
    for (auto& [uid, waiting] : queue_) {
        if (!waiting.binding && (first == nullptr || rank(waiting) < rank(*first)))
            first = &waiting;
    }
    return first;
}

void KubeScheduler::schedule() {
    while (true) {
        Waiting* first = next();
        const Time now = scene_.loop.now();
        if (first == nullptr || first->due > now) {
            idle_ = scene_.loop.me();
            scene_.loop.wait(first == nullptr ? kFlush : first->due - now);
            continue;
        }
        first->binding = true;
        ++first->attempts;
        try_pod(PodPtr(first->pod));
    }
}

void KubeScheduler::again(const PodUid& uid, bool fits_nowhere) {
    const auto at = queue_.find(uid);
    if (at == queue_.end()) return;
    Waiting& waiting = at->second;
    waiting.binding = false;
    waiting.fits_nowhere = fits_nowhere;
    waiting.due = scene_.loop.now() + (fits_nowhere ? kFlush : backoff(waiting.attempts));
    scene_.loop.wake(idle_);
}

std::vector<NodeName> KubeScheduler::allowed_nodes(const PodInfo& pod) {
    std::vector<NodeName> out;
    for (const auto& [name, there] : nodes_) {
        if (!scene_.has_faults || !excluded_.contains({pod.uid, name})) out.push_back(name);
    }
    return out;
}

std::optional<FilterAnswer> KubeScheduler::ask(const PodInfo& pod,
                                               const std::vector<NodeName>& nodes) {
    const auto request = request_of(pod, nodes);
    const auto filter = [request](Controller& c) { return c.filter(request->args); };
    auto asked = service_.request(Service::For::anyone, kTimeout, filter);
    if (asked && !*asked) asked = service_.request(Service::For::leader, kTimeout, filter);
    return asked.value_or(std::nullopt);
}

NodeName KubeScheduler::best_of(const PodInfo& pod, const std::vector<NodeName>& fitting) {
    const auto offer = request_of(pod, fitting);
    const auto scores = service_.request(Service::For::anyone, kTimeout, [offer](Controller& c) {
        return c.scheduler().prioritize(offer->args);
    });
    // Without scores, kube-scheduler chooses any fitting node.
    std::size_t best = scene_.rng.below(fitting.size());
    for (std::size_t i = 0; scores && i < fitting.size(); ++i) {
        if ((*scores)[i] > (*scores)[best]) best = i;
    }
    return fitting[best];
}

void KubeScheduler::try_pod(const PodPtr& pod) {
    const PodInfo& info = pod->info;
    const bool is_nominated = !info.nominated.empty();
    if (is_nominated && scene_.strikes(Fault::nomination_ignored))
        excluded_.emplace(info.uid, info.nominated);
    if (is_nominated && scene_.strikes(Fault::nomination_cleared)) clear_nomination(info);
    const std::vector<NodeName> names = allowed_nodes(info);
    if (std::ranges::find(names, info.nominated) != names.end()) {
        // An error of the extender is logged, and the other nodes are looked at.
        const auto answer = ask(info, {info.nominated});
        if (answer && !answer->fitting.empty()) return bind_later(info, info.nominated);
    }
    // If no node passes kube-scheduler's own filters, the extender is not asked.
    if (names.empty()) return fail(info, true);
    const std::optional<FilterAnswer> answer = ask(info, names);
    if (!answer || answer->fitting.empty()) return fail(info, answer.has_value());
    std::vector<NodeName> fitting;
    for (const std::size_t at : answer->fitting)
        fitting.push_back(names[at]);
    bind_later(info, best_of(info, fitting));
}

// Up to Kubernetes 1.34, the nomination of a pod that could not be placed is removed.
void KubeScheduler::fail(const PodInfo& pod, bool fits_nowhere) {
    if (scene_.clears_nominations && !pod.nominated.empty()) clear_nomination(pod);
    again(pod.uid, fits_nowhere);
}

void KubeScheduler::clear_nomination(const PodInfo& pod) {
    (void)server_.nominate(pod.uid, pod.name, NodeName(), false);
}

void KubeScheduler::bind_later(const PodInfo& pod, const NodeName& node) {
    process_->spawn([this, pod, node] { bind(pod, node); });
}

void KubeScheduler::bind(const PodInfo& pod, const NodeName& node) {
    const BindArgs args{pod.name, pod.uid, node};
    scene_.note("scheduler", [&] { return "binds " + pod.uid.str() + " to " + node.str(); });
    const auto done = service_.request(Service::For::leader, kTimeout, [args](Controller& c) {
        return c.scheduler().bind(args).has_value();
    });
    if (!done.value_or(false)) fail(pod, false);
}

}  // namespace tessera::simulation
