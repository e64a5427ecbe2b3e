#include "testing/simulation/api_server.hpp"

#include <fmt/format.h>

#include <utility>

#include "wire/tessera/allocation_json.hpp"
#include "wire/tessera/keys.hpp"
#include "wire/tessera/node_gpus_json.hpp"

namespace tessera::simulation {
namespace {

// Reads a Node as wire/kube/kube_objects.cpp does, for a node without a gpushare plugin.
NodeInventory inventory_of(const NodeName& name, const StringMap& annotations) {
    NodeInventory out{.name = name};
    const auto text = annotations.find(key::kGpus);
    if (text == annotations.end()) {
        out.source = InventorySource::legacy;
        return out;
    }
    auto gpus = read_node_gpus(text->second);
    if (!gpus) {
        out.fault = gpus.error().text;
        return out;
    }
    out.unit = gpus->unit;
    out.gpus = std::move(gpus->gpus);
    return out;
}

std::string words_of(const PodObject& pod) {
    const PodInfo& info = pod.info;
    const Allocation* own = own_allocation(info);
    std::string gpus;
    for (const GpuAllocation& on_gpu :
         own == nullptr ? std::vector<GpuAllocation>{} : allocated_by_gpu(own->containers))
        gpus += fmt::format(" {}={}", on_gpu.uuid.str(), to_string(on_gpu.memory));
    return fmt::format("{} {} node={}{}{}{}{}", info.name.name, info.uid.str(), info.node.str(),
                       info.nominated.empty() ? "" : " nominated=" + info.nominated.str(),
                       info.terminating ? " terminating" : "", info.finished ? " finished" : "",
                       gpus);
}

std::string words_of(const NodeObject& node) {
    std::string gpus;
    for (const Gpu& gpu : node.inventory.gpus)
        gpus += gpu.usable() ? " ok" : " bad";
    return node.inventory.name.str() + gpus;
}

}  // namespace

void ApiServer::on_pod(std::function<void(const Change<PodObject>&)> listener) {
    pod_listeners_.push_back(std::move(listener));
}
void ApiServer::on_node(std::function<void(const Change<NodeObject>&)> listener) {
    node_listeners_.push_back(std::move(listener));
}

void ApiServer::change(const PodPtr& pod, bool deleted) {
    if (deleted) {
        pods_.erase(pod->info.name);
    } else {
        pods_.insert_or_assign(pod->info.name, pod);
    }
    pod_log_.push_back({pod, deleted});
    scene_.note("api", [&] { return (deleted ? "pod gone " : "pod ") + words_of(*pod); });
    const Change<PodObject> last = pod_log_.back();
    for (const auto& listener : pod_listeners_)
        listener(last);
    wake_all();
}

void ApiServer::change(const NodePtr& node, bool deleted) {
    const NodeName& name = node->inventory.name;
    if (deleted) {
        nodes_.erase(name);
    } else {
        nodes_.insert_or_assign(name, node);
    }
    node_log_.push_back({node, deleted});
    scene_.note("api", [&] { return (deleted ? "node gone " : "node ") + words_of(*node); });
    const Change<NodeObject> last = node_log_.back();
    for (const auto& listener : node_listeners_)
        listener(last);
    wake_all();
}

void ApiServer::wake_all() {
    for (const Waiter& sleeper : std::exchange(sleepers_, {}))
        scene_.loop.wake(sleeper);
}

bool ApiServer::create_pod(const PodObject& pod) {
    if (pods_.contains(pod.info.name)) return false;
    change(std::make_shared<const PodObject>(pod), false);
    return true;
}

Result<PodPtr> ApiServer::pod(const PodName& name) const {
    const auto at = pods_.find(name);
    if (at == pods_.end()) {
        return fail(Code::not_found, fmt::format("pods \"{}\" not found", name.name));
    }
    return at->second;
}

PodPtr ApiServer::pod(const PodName& name, const PodUid& uid) const {
    const auto at = pods_.find(name);
    return at != pods_.end() && at->second->info.uid == uid ? at->second : nullptr;
}

Result<> ApiServer::bind(const PodUid& uid, const PodName& name, const NodeName& node,
                         const StringMap& annotations) {
    TRY(const PodPtr found, pod(name));
    if (found->info.uid != uid) {
        return fail(Code::conflict,
                    fmt::format("Precondition failed: UID in precondition: {}", uid.str()));
    }
    if (!found->info.node.empty()) {
        return fail(Code::conflict, fmt::format("pod {} is already assigned to node \"{}\"",
                                                name.name, found->info.node.str()));
    }
    if (found->info.nominated == node) ++followed_;
    PodObject bound = *found;
    bound.info.node = node;
    for (const auto& [key, value] : annotations)
        bound.annotations.insert_or_assign(key, value);
    if (const auto text = bound.annotations.find(key::kAllocation);
        text != bound.annotations.end()) {
        bound.info.allocation = read_allocation(text->second);
    }
    change(std::make_shared<const PodObject>(std::move(bound)), false);
    return {};
}

void ApiServer::delete_pod(const PodName& name) {
    const auto at = pods_.find(name);
    if (at == pods_.end() || at->second->info.terminating) return;
    if (at->second->info.node.empty()) return change(PodPtr(at->second), true);
    PodObject terminating = *at->second;
    terminating.info.terminating = true;
    change(std::make_shared<const PodObject>(std::move(terminating)), false);
}

void ApiServer::remove_pod(const PodName& name, const PodUid& uid) {
    if (const PodPtr found = pod(name, uid)) change(found, true);
}

void ApiServer::finish_pod(const PodName& name, const PodUid& uid) {
    const PodPtr found = pod(name, uid);
    if (!found || found->info.finished) return;
    PodObject ended = *found;
    ended.info.finished = true;
    change(std::make_shared<const PodObject>(std::move(ended)), false);
}

Result<bool> ApiServer::evict(const PodUid& uid, const PodName& name, bool dry_run) {
    const PodPtr found = pod(name, uid);
    if (!found) return fail(Code::not_found, fmt::format("pods \"{}\" not found", name.name));
    if (found->guarded) return false;
    if (dry_run) return true;
    if (!found->info.terminating) ++evicted_;
    delete_pod(name);
    return true;
}

Result<> ApiServer::nominate(const PodUid& uid, const PodName& name, const NodeName& node,
                             bool is_ahead) {
    const PodPtr found = pod(name, uid);
    if (!found) return fail(Code::conflict, "the object has been modified");
    if (is_ahead && (!found->info.nominated.empty() || !found->info.node.empty()))
        return fail(Code::invalid_argument,
                    "the server rejected our request: testing value failed");
    if (found->info.nominated == node || !found->info.node.empty()) return {};
    if (!node.empty()) ++nominated_;
    PodObject nominated = *found;
    nominated.info.nominated = node;
    nominated.info.is_nominated_ahead = is_ahead && !node.empty();
    change(std::make_shared<const PodObject>(std::move(nominated)), false);
    return {};
}

Result<> ApiServer::withdraw(const PodUid& uid, const PodName& name, const NodeName& node) {
    const PodPtr found = pod(name, uid);
    if (!found) return fail(Code::conflict, "the object has been modified");
    if (found->info.nominated != node)
        return fail(Code::invalid_argument,
                    "the server rejected our request: testing value failed");
    return nominate(uid, name, NodeName(), false);
}

Result<Lease> ApiServer::write_lease(Lease lease) {
    if (lease.version != (lease_ ? lease_->version : "")) {
        return fail(Code::conflict, "the object has been modified");
    }
    const bool is_new = !lease_ || lease_->holder != lease.holder;
    lease.version = std::to_string(++lease_version_);
    lease_ = std::move(lease);
    if (is_new) scene_.note("api", [&] { return "lease of " + lease_->holder; });
    return *lease_;
}

void ApiServer::create_node(const NodeName& name) {
    if (nodes_.contains(name)) return;
    NodeObject node{.inventory = inventory_of(name, {}), .annotations = {}, .amounts = {}};
    change(std::make_shared<const NodeObject>(std::move(node)), false);
}

void ApiServer::delete_node(const NodeName& name) {
    const auto at = nodes_.find(name);
    if (at != nodes_.end()) change(NodePtr(at->second), true);
}

Result<> ApiServer::set_node_metadata(const NodeName& name, const StringMap& annotations,
                                      const StringMap& labels) {
    const auto at = nodes_.find(name);
    if (at == nodes_.end()) return fail(Code::not_found, "node not found");
    NodeObject node = *at->second;
    for (const auto& [key, value] : annotations)
        node.annotations.insert_or_assign(key, value);
    for (const auto& [key, value] : labels)
        node.labels.insert_or_assign(key, value);
    node.inventory = inventory_of(name, node.annotations);
    change(std::make_shared<const NodeObject>(std::move(node)), false);
    return {};
}

Result<> ApiServer::set_amounts(const NodeName& name, const StringMap& amounts) {
    const auto at = nodes_.find(name);
    if (at == nodes_.end()) return fail(Code::not_found, "node not found");
    NodeObject node = *at->second;
    for (const auto& [key, value] : amounts)
        node.amounts.insert_or_assign(key, value);
    change(std::make_shared<const NodeObject>(std::move(node)), false);
    return {};
}

}  // namespace tessera::simulation
