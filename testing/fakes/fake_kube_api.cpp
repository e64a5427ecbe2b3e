#include "testing/fakes/fake_kube_api.hpp"

#include <utility>

#include "wire/tessera/allocation_json.hpp"
#include "wire/tessera/keys.hpp"

namespace tessera {
namespace {

tl::unexpected<Error> no_answer() {
    return fail(Code::unavailable, "the API server does not answer");
}

// Passes the changes of `history`, from index `next` on, to `sink` until `stop`. `lock` is locked
// on entry, and unlocked during each call of the sink.
template <class Changes>
void replay(const std::vector<Changes>& history, std::size_t next, const bool& paused,
            const std::function<void(Changes)>& sink, std::condition_variable_any& changed,
            std::unique_lock<std::mutex>& lock, const std::stop_token& stop) {
    while (changed.wait(lock, stop, [&] { return !paused && next < history.size(); })) {
        const Changes changes = history[next++];
        lock.unlock();
        sink(changes);
        lock.lock();
    }
}

}  // namespace

void FakeKubeApi::put_node(const NodeInventory& node) {
    const std::scoped_lock lock(mutex_);
    nodes_.insert_or_assign(node.name, node);
    node_history_.push_back({.upserted = {node}, .deleted = {}, .listed = {}});
    changed_.notify_all();
}

void FakeKubeApi::delete_node(const NodeName& name) {
    const std::scoped_lock lock(mutex_);
    nodes_.erase(name);
    node_history_.push_back({.upserted = {}, .deleted = {name}, .listed = {}});
    changed_.notify_all();
}

void FakeKubeApi::put_pod(const PodInfo& pod) {
    const std::scoped_lock lock(mutex_);
    pods_.insert_or_assign(pod.name, pod);
    pod_history_.push_back({.upserted = {pod}, .deleted = {}, .listed = {}});
    changed_.notify_all();
}

void FakeKubeApi::delete_pod(const PodName& name) {
    const std::scoped_lock lock(mutex_);
    const auto at = pods_.find(name);
    if (at == pods_.end()) return;
    pod_history_.push_back({.upserted = {}, .deleted = {at->second.uid}, .listed = {}});
    pods_.erase(at);
    changed_.notify_all();
}

void FakeKubeApi::refuse_next_bind(Error error) {
    const std::scoped_lock lock(mutex_);
    bind_error_ = std::move(error);
}
void FakeKubeApi::lose_answer_after_write() {
    const std::scoped_lock lock(mutex_);
    lost_ = Lost::after_write;
}
void FakeKubeApi::lose_answer_before_write() {
    const std::scoped_lock lock(mutex_);
    lost_ = Lost::before_write;
}
void FakeKubeApi::refuse_next_get(Error error) {
    const std::scoped_lock lock(mutex_);
    get_error_ = std::move(error);
}
void FakeKubeApi::set_down(bool down) {
    const std::scoped_lock lock(mutex_);
    down_ = down;
}
void FakeKubeApi::on_bind(std::function<void()> hook) {
    const std::scoped_lock lock(mutex_);
    on_bind_ = std::move(hook);
}
void FakeKubeApi::pause_watches(bool paused) {
    const std::scoped_lock lock(mutex_);
    paused_ = paused;
    changed_.notify_all();
}

std::vector<FakeKubeApi::Write> FakeKubeApi::bindings() const {
    const std::scoped_lock lock(mutex_);
    return bindings_;
}
StringMap FakeKubeApi::node_annotations(const NodeName& node) const {
    const std::scoped_lock lock(mutex_);
    const auto at = annotations_.find(node);
    return at == annotations_.end() ? StringMap{} : at->second;
}
StringMap FakeKubeApi::node_resources(const NodeName& node) const {
    const std::scoped_lock lock(mutex_);
    const auto at = resources_.find(node);
    return at == resources_.end() ? StringMap{} : at->second;
}
int FakeKubeApi::node_patches() const {
    const std::scoped_lock lock(mutex_);
    return node_patches_;
}
int FakeKubeApi::pod_reads() const {
    const std::scoped_lock lock(mutex_);
    return pod_reads_;
}
void FakeKubeApi::reset_node_resources(const NodeName& node) {
    const std::scoped_lock lock(mutex_);
    resources_.erase(node);
}

void FakeKubeApi::follow_nodes(const std::function<void(NodeChanges)>& sink,
                               const ErrorSink& on_error, std::stop_token stop) {
    std::unique_lock lock(mutex_);
    if (down_) on_error({Code::unavailable, "the API server does not answer"});
    NodeChanges list;
    list.listed.emplace();
    for (const auto& [name, node] : nodes_) {
        list.upserted.push_back(node);
        list.listed->insert(name);
    }
    const std::size_t next = node_history_.size();
    lock.unlock();
    sink(std::move(list));
    lock.lock();
    replay(node_history_, next, paused_, sink, changed_, lock, stop);
}

void FakeKubeApi::follow_pods(const std::function<void(PodChanges)>& sink,
                              const ErrorSink& on_error, std::stop_token stop) {
    std::unique_lock lock(mutex_);
    if (down_) on_error({Code::unavailable, "the API server does not answer"});
    PodChanges list;
    list.listed.emplace();
    for (const auto& [name, pod] : pods_) {
        list.upserted.push_back(pod);
        list.listed->insert(pod.uid);
    }
    const std::size_t next = pod_history_.size();
    lock.unlock();
    sink(std::move(list));
    lock.lock();
    replay(pod_history_, next, paused_, sink, changed_, lock, stop);
}

Result<> FakeKubeApi::write_binding(const Write& write) {
    const auto at = pods_.find(write.pod);
    if (at == pods_.end())
        return fail(Code::not_found, "pods \"" + write.pod.name + "\" not found");
    PodInfo& pod = at->second;
    if (pod.uid != write.uid) {
        return fail(Code::conflict, "Precondition failed: UID in precondition: " + write.uid.str());
    }
    if (!pod.node.empty()) {
        return fail(Code::conflict, "pod " + pod.name.name + " is already assigned to node \"" +
                                        pod.node.str() + "\"");
    }
    pod.node = write.node;
    if (const auto text = write.annotations.find(key::kAllocation);
        text != write.annotations.end()) {
        pod.allocation = read_allocation(text->second);
    }
    pod_history_.push_back({.upserted = {pod}, .deleted = {}, .listed = {}});
    changed_.notify_all();
    return {};
}

Result<> FakeKubeApi::bind(const PodUid& uid, const PodName& pod, const NodeName& node,
                           const StringMap& annotations) {
    std::unique_lock lock(mutex_);
    if (const auto hook = on_bind_) {
        lock.unlock();
        hook();
        lock.lock();
    }
    bindings_.push_back({uid, pod, node, annotations});
    if (down_) return no_answer();
    if (const auto error = std::exchange(bind_error_, std::nullopt)) return fail(*error);
    const Lost lost = std::exchange(lost_, Lost::no);
    if (lost == Lost::before_write) return no_answer();
    const auto written = write_binding(bindings_.back());
    return lost == Lost::after_write ? no_answer() : written;
}

Result<PodInfo> FakeKubeApi::get_pod(const PodName& pod) {
    const std::scoped_lock lock(mutex_);
    ++pod_reads_;
    if (down_) return no_answer();
    if (const auto error = std::exchange(get_error_, std::nullopt)) return fail(*error);
    const auto at = pods_.find(pod);
    if (at == pods_.end()) return fail(Code::not_found, "pods \"" + pod.name + "\" not found");
    return at->second;
}

Result<std::vector<NodeInventory>> FakeKubeApi::list_nodes() {
    const std::scoped_lock lock(mutex_);
    if (down_) return no_answer();
    std::vector<NodeInventory> out;
    for (const auto& [name, node] : nodes_)
        out.push_back(node);
    return out;
}

Result<std::vector<PodInfo>> FakeKubeApi::list_pods(const NodeName& node) {
    const std::scoped_lock lock(mutex_);
    if (down_) return no_answer();
    std::vector<PodInfo> out;
    for (const auto& [name, pod] : pods_) {
        if (node.empty() || pod.node == node) out.push_back(pod);
    }
    return out;
}

Result<std::vector<NodePod>> FakeKubeApi::list_node_pods(const NodeName& node) {
    TRY(auto pods, list_pods(node));
    const std::scoped_lock lock(mutex_);
    std::vector<NodePod> out;
    for (PodInfo& pod : pods) {
        const auto setups = setups_.find(pod.uid);
        std::vector<ContainerSetup> plain;
        for (const ContainerSpec& container : pod.containers)
            plain.push_back({.name = container.name});
        out.push_back({std::move(pod), setups == setups_.end() ? plain : setups->second});
    }
    return out;
}

void FakeKubeApi::put_setups(const PodUid& pod, std::vector<ContainerSetup> setups) {
    const std::scoped_lock lock(mutex_);
    setups_[pod] = std::move(setups);
}

void FakeKubeApi::label_node(const NodeName& node, StringMap labels) {
    const std::scoped_lock lock(mutex_);
    labels_[node] = std::move(labels);
}

Result<NodeShown> FakeKubeApi::node_shows(const NodeName& node, const NodeWanted& wanted) {
    const std::scoped_lock lock(mutex_);
    if (down_) return no_answer();
    const StringMap& annotations = annotations_[node];
    const auto report = annotations.find(key::kGpus);
    return NodeShown{shows_all(annotations, wanted.annotations) &&
                         shows_all(labels_[node], wanted.labels) &&
                         shows_all(resources_[node], wanted.amounts),
                     labels_[node], report == annotations.end() ? "" : report->second};
}

Result<> FakeKubeApi::set_node_metadata(const NodeName& node, const StringMap& annotations,
                                        const StringMap& labels) {
    const std::scoped_lock lock(mutex_);
    if (down_) return no_answer();
    for (const auto& [name, value] : annotations)
        annotations_[node].insert_or_assign(name, value);
    for (const auto& [name, value] : labels) {
        if (value.empty()) {
            labels_[node].erase(name);
        } else {
            labels_[node].insert_or_assign(name, value);
        }
    }
    ++node_patches_;
    return {};
}

Result<> FakeKubeApi::set_node_resources(const NodeName& node, const StringMap& amounts) {
    const std::scoped_lock lock(mutex_);
    if (down_) return no_answer();
    for (const auto& [name, value] : amounts)
        resources_[node].insert_or_assign(name, value);
    return {};
}

}  // namespace tessera
