// The invariants of domain/scheduling/state.hpp under any order of events: a small model of the API
// server, of a late watch, and of the controller's own steps.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "domain/placement/fit_error.hpp"
#include "domain/placement/place.hpp"
#include "domain/scheduling/state.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

constexpr int kNodes = 2;
constexpr int kNames = 5;

NodeName node_name(int i) {
    return NodeName("n" + std::to_string(i));
}

// The state of the API server, and the events that the watch has not delivered yet.
struct Api {
    std::map<PodUid, PodInfo> pods;
    struct Event {
        PodInfo pod;
        bool deleted = false;
    };
    std::deque<Event> watch;

    void put(const PodInfo& pod) {
        pods.insert_or_assign(pod.uid, pod);
        watch.push_back({pod, false});
    }
    void remove(const PodUid& uid) {
        watch.push_back({pods.at(uid), true});
        pods.erase(uid);
    }
};

// A Binding in progress: the decision of reserve(), until the API server has decided about it. The
// controller may have stopped waiting for the response long before.
struct UnderWay {
    PodInfo pod;
    Allocation allocation;
    Attempt attempt;
};

class Model {
  public:
    Model() {
        for (int i = 0; i < kNodes; ++i) {
            const auto name = node_name(i).str();
            nodes_.push_back(build::node(name, 1 + i, gibibytes(8 + 8 * i)));
            state_.set_node(nodes_.back());
        }
    }

    // One step; the number chooses it and its parameters.
    void step(std::uint32_t number) {
        const std::uint32_t choice = number % 16;
        number /= 16;
        switch (choice) {
            case 0:
            case 1:
            case 2:
                return create(number);
            case 3:
            case 4:
            case 5:
                return reserve(number);
            case 6:
            case 7:
                return answer(number);
            case 8:
                return land(number);
            case 9:
            case 10:
                return deliver();
            case 11:
                return end(number);
            case 12:
                return number % 2 == 0 ? reconcile() : apply_reconciled();
            case 13:
                return relist();
            case 14:
                return toggle_node(number);
            case 15:
                return toggle_health(number);
            default:
                return;
        }
    }

    // Nothing is over-committed, neither in the API server nor in the cache. The cache may count
    // one pod too many for a moment: a finished pod that an older event of a late watch shows once
    // more.
    void check() {
        const auto snapshot = state_.snapshot();
        for (const auto& node : snapshot->nodes()) {
            for (const GpuState& gpu : node->gpus) {
                RC_ASSERT(gpu.allocated >= Bytes{});
                RC_ASSERT(gpu.allocated <= gpu.capacity || !read_ahead_.empty());
                RC_ASSERT(gpu.allocated_cores.value <= 100);
            }
        }
        std::map<GpuUuid, Bytes> granted;
        for (const auto& [uid, pod] : api_.pods) {
            if (pod.finished || !pod.allocation) continue;
            for (const GpuAllocation& on_gpu : allocated_by_gpu((*pod.allocation)->containers))
                granted[on_gpu.uuid] += on_gpu.memory;
        }
        for (const NodeInventory& node : nodes_) {
            for (const Gpu& gpu : node.gpus)
                RC_ASSERT(granted[gpu.uuid] <= gpu.capacity());
        }
    }

    // All pods end, all events arrive, all uncertain binds are reconciled: everything must be free.
    void finish() {
        while (!under_way_.empty())
            answer(0);
        while (!given_up_.empty())
            land(0);
        apply_reconciled();
        while (!api_.pods.empty())
            api_.remove(api_.pods.begin()->first);
        while (!api_.watch.empty())
            deliver();
        reconcile();
        apply_reconciled();
        for (const NodeInventory& node : nodes_)
            state_.set_node(node);
        for (const auto& node : state_.snapshot()->nodes()) {
            RC_ASSERT(node->assigned_pods.empty());
            RC_ASSERT(node->blocked.empty());
            for (const GpuState& gpu : node->gpus) {
                RC_ASSERT(gpu.allocated == Bytes{});
                RC_ASSERT(gpu.allocated_cores == Percent{});
                RC_ASSERT(gpu.pods == 0);
            }
        }
        RC_ASSERT(state_.pending_count() == 0U);
        RC_ASSERT(state_.unconfirmed().empty());
    }

  private:
    // A new pod. Its name may belong to a pod that is not gone yet; its uid never does.
    void create(std::uint32_t number) {
        const std::int64_t units = 1 + number % 10;
        std::vector<ContainerSpec> containers = build::aliyun(units);
        if (number % 3 == 1) containers = build::native(gibibytes(units), 1 + number % 2);
        if (number % 7 == 2) containers = build::whole();
        if (number % 5 == 3) {
            const bool is_native = containers[0].limits[0].first != resource::kAliyunMem;
            const std::string resource(is_native ? resource::kGpu : resource::kAliyunMem);
            containers.insert(containers.begin(),
                              build::container("prepare", {{resource, "1"}}, ContainerKind::init));
        }
        PodInfo pod = build::pod("p" + std::to_string(number % kNames), containers);
        pod.uid = PodUid("uid-" + std::to_string(next_uid_++));
        api_.put(pod);
    }

    void reserve(std::uint32_t number) {
        if (api_.pods.empty()) return;
        if (number % 4 == 0) return retry(number);
        const auto at =
            std::next(api_.pods.begin(), static_cast<std::ptrdiff_t>(number % api_.pods.size()));
        const PodInfo pod = at->second;
        if (pod.finished) return;
        const auto made = state_.reserve(build::request(pod), node_name(number / 64 % kNodes));
        if (made && made->kind == Reservation::Kind::write) {
            under_way_.push_back({pod, made->allocation, made->attempt});
        }
    }

    // kube-scheduler retries a pod whose Binding is uncertain.
    void retry(std::uint32_t number) {
        const auto uncertain = state_.unconfirmed();
        if (uncertain.empty()) return;
        const AssignedPod& assigned_pod = *uncertain[number % uncertain.size()];
        const auto at = api_.pods.find(assigned_pod.uid);
        if (at == api_.pods.end() || at->second.finished) return;
        const auto made =
            state_.reserve({assigned_pod.uid, assigned_pod.name, {}}, assigned_pod.allocation.node);
        if (made && made->kind == Reservation::Kind::write) {
            under_way_.push_back({at->second, made->allocation, made->attempt});
        }
    }

    // The API server decides about a Binding. True if it binds the pod.
    bool write(const UnderWay& binding) {
        const auto at = api_.pods.find(binding.pod.uid);
        if (at == api_.pods.end() || !at->second.node.empty()) return false;
        api_.put(build::bound(at->second, binding.allocation));
        return true;
    }

    // The oldest Binding in progress is answered, or the controller stops waiting for the response.
    void answer(std::uint32_t number) {
        if (under_way_.empty()) return;
        const UnderWay binding = under_way_.front();
        under_way_.pop_front();
        if (number % 4 == 1) {
            state_.confirm(binding.attempt);
            given_up_.push_back(binding);
        } else if (number % 4 == 2) {
            state_.refuse(
                binding.attempt);  // for a reason that does not depend on the pod: no permission
        } else if (write(binding)) {
            if (number % 4 == 0) deliver();
            state_.confirm(binding.attempt);
        } else {
            conflict(binding);
        }
    }

    bool bound_by(const UnderWay& binding) const {
        const auto at = api_.pods.find(binding.pod.uid);
        return at != api_.pods.end() && at->second.allocation &&
               **at->second.allocation == binding.allocation;
    }

    // The pod is gone or bound: the controller reads it.
    void conflict(const UnderWay& binding) {
        if (bound_by(binding)) {
            state_.confirm(binding.attempt);
        } else {
            release(binding.attempt);
        }
    }

    // After a read that is ahead of the watch.
    void release(const Attempt& attempt) {
        if (on_its_way(attempt.pod)) read_ahead_.insert(attempt.pod);
        state_.release(attempt);
    }

    // A Binding that the controller no longer waits for is written, or is lost for good.
    void land(std::uint32_t number) {
        if (given_up_.empty()) return;
        const UnderWay binding = given_up_.front();
        given_up_.pop_front();
        if (number % 3 != 2) write(binding);
    }

    void deliver() {
        if (api_.watch.empty()) return;
        const Api::Event event = api_.watch.front();
        api_.watch.pop_front();
        if (!on_its_way(event.pod.uid)) read_ahead_.erase(event.pod.uid);
        if (event.deleted) {
            state_.remove_pod(event.pod.uid);
        } else {
            state_.set_pod(event.pod);
        }
    }

    // A pod is deleted, finishes, or is deleted with force.
    void end(std::uint32_t number) {
        if (api_.pods.empty()) return;
        const auto at =
            std::next(api_.pods.begin(), static_cast<std::ptrdiff_t>(number % api_.pods.size()));
        PodInfo pod = at->second;
        if (number / 64 % 3 == 0) return api_.remove(pod.uid);
        if (number / 64 % 3 == 1) {
            pod.finished = true;
        } else {
            pod.terminating = true;
        }
        api_.put(pod);
    }

    // The controller's reconciliation of Bindings that are too old to be written: it reads the
    // pods. The result takes effect later, when other things may have happened.
    void reconcile() {
        for (const AssignedPodPtr& assigned_pod : state_.unconfirmed()) {
            const bool may_land = std::ranges::any_of(
                given_up_, [&](const UnderWay& b) { return b.pod.uid == assigned_pod->uid; });
            const auto at = api_.pods.find(assigned_pod->uid);
            const bool bound = at != api_.pods.end() && !at->second.node.empty();
            if (!may_land && !bound)
                reconciled_.push_back({assigned_pod->uid, assigned_pod->attempt});
        }
    }

    void apply_reconciled() {
        for (const Attempt& attempt : std::exchange(reconciled_, {}))
            release(attempt);
    }

    // True while the watch has not shown everything about this pod.
    bool on_its_way(const PodUid& uid) const {
        return std::ranges::any_of(api_.watch,
                                   [&](const Api::Event& e) { return e.pod.uid == uid; });
    }

    void relist() {
        api_.watch.clear();
        read_ahead_.clear();
        std::set<PodUid> all;
        for (const auto& [uid, pod] : api_.pods) {
            all.insert(uid);
            state_.set_pod(pod);
        }
        state_.keep_only_pods(all);
    }

    void toggle_node(std::uint32_t number) {
        const NodeInventory& node = nodes_[number % nodes_.size()];
        if (state_.snapshot()->find(node.name.str()) != nullptr) {
            state_.remove_node(node.name);
        } else {
            state_.set_node(node);
        }
    }

    void toggle_health(std::uint32_t number) {
        NodeInventory& node = nodes_[number % nodes_.size()];
        Gpu& gpu = node.gpus[number / 8 % node.gpus.size()];
        gpu.condition = gpu.usable() ? GpuCondition::unhealthy : GpuCondition::healthy;
        if (state_.snapshot()->find(node.name.str()) != nullptr) state_.set_node(node);
    }

    ClusterState state_;
    Api api_;
    std::vector<NodeInventory> nodes_;
    std::deque<UnderWay> under_way_;   // the controller waits for the response
    std::deque<UnderWay> given_up_;    // it no longer waits
    std::vector<Attempt> reconciled_;  // to be released
    std::set<PodUid> read_ahead_;
    int next_uid_ = 0;
};

// Goal: no GPU is ever over-committed, and nothing leaks once all pods are gone. Method: up to a
// few hundred random steps of the model; check after each, and at the end.
RC_GTEST_PROP(ClusterStateProperty, NeverOverCommitsAndNeverLeaks, ()) {
    const auto steps = *rc::gen::scale(4.0, rc::gen::container<std::vector<std::uint32_t>>(
                                                rc::gen::inRange<std::uint32_t>(0, 16 * 64 * 64)));
    Model model;
    for (const std::uint32_t step : steps) {
        model.step(step);
        model.check();
    }
    model.finish();
}

// Goal: filter and bind cannot disagree: on one state, a fit in the snapshot is a reservation of
// exactly those GPUs, and no fit is a refusal with the same text. Method: random pods, random
// requests.
RC_GTEST_PROP(ClusterStateProperty, FilterAndReserveAgree, ()) {
    ClusterState state;
    NodeInventory node = build::node("n", *rc::gen::inRange(0, 4), gibibytes(16));
    for (Gpu& gpu : node.gpus)
        if (*rc::gen::inRange(0, 4) == 0) gpu.condition = GpuCondition::not_shareable;
    state.set_node(node);
    const int pods = *rc::gen::inRange(1, 12);
    for (int i = 0; i < pods; ++i) {
        const std::int64_t units = *rc::gen::inRange<std::int64_t>(1, 18);
        const auto containers = *rc::gen::element(
            build::aliyun(units), build::native(gibibytes(units), 2), build::whole());
        const PodInfo pod = build::pod("p" + std::to_string(i), containers);
        const ContainerRequests request = build::request(containers);
        const auto snapshot = state.snapshot();
        const NodeInfo* now = snapshot->find("n");
        Placer placer(request);
        const Assignment* assignment = placer.try_node(now->node_gpus());
        const auto made = state.reserve({pod.uid, pod.name, request}, NodeName("n"));
        RC_ASSERT((assignment != nullptr) == made.has_value());
        const std::uint32_t position = snapshot->position("n");
        const PlacementRow& row = snapshot->row(position);
        const auto price = placer.price(row, snapshot->free_of(position));
        RC_ASSERT(price.has_value() == made.has_value());
        if (assignment == nullptr) {
            Explainer explainer(request);
            RC_ASSERT(made.error().text == explainer.explain(now->node_gpus()).message);
            RC_ASSERT(made.error().text == explainer.explain(row).message);
        } else {
            assignment = placer.try_node(now->node_gpus());
            RC_ASSERT(*price == assignment->price);
            RC_ASSERT(made->allocation.containers == containers_of(request, *assignment,
                                                                   now->inventory.gpus,
                                                                   now->inventory.unit));
        }
    }
}

}  // namespace
}  // namespace tessera
