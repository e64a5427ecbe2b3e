#include "app/agent/inventory/node_publisher.hpp"

#include "app/agent/inventory/device_lists.hpp"
#include "base/log.hpp"
#include "domain/cluster/node_labels.hpp"
#include "domain/health/driver_release.hpp"
#include "wire/tessera/keys.hpp"
#include "wire/tessera/node_gpus_json.hpp"

namespace tessera {

NodePublisher::NodePublisher(KubeApi& kube, NodePublisherOptions options)
    : kube_(kube), options_(std::move(options)) {}

std::string NodePublisher::release_label() const {
    const MutexLock lock(mutex_);
    return release_label_;
}

bool NodePublisher::is_published() const {
    const MutexLock lock(mutex_);
    return wanted_ != nullptr && published_ == wanted_;
}

void NodePublisher::show(std::shared_ptr<const NodeInventory> node, bool is_released) {
    {
        const MutexLock lock(mutex_);
        is_released_ = is_released;
        wanted_ = std::move(node);
        due_ = true;
    }
    wake_.notify_all();
}

void NodePublisher::check_soon() {
    {
        const MutexLock lock(mutex_);
        due_ = true;
    }
    wake_.notify_all();
}

bool NodePublisher::publish(const NodeInventory& node, bool is_released) {
    const NodeWanted wanted{
        .annotations = {{std::string(key::kGpus),
                         write_node_gpus({.unit = node.unit,
                                          .identity = options_.identity,
                                          .shares = options_.shares,
                                          .gpus = node.gpus,
                                          .enforcement_fault = node.enforcement_fault,
                                          .injection_fault = node.injection_fault})},
                        {std::string(key::kDriver), is_released ? "released" : "in-use"}},
        .labels = node_labels(node),
        .amounts = node_amounts(node, *options_.dialects)};
    const auto shown = kube_.node_shows(node.name, wanted);
    if (shown) {
        const MutexLock lock(mutex_);
        release_label_ = driver_release_label(shown->labels);
    }
    if (shown && options_.on_labels && !options_.on_labels(shown->labels)) return false;
    if (shown && shown->matches) return true;
    auto done = kube_.set_node_metadata(node.name, wanted.annotations, wanted.labels);
    if (done) done = kube_.set_node_resources(node.name, wanted.amounts);
    if (!done) log_event(Event::api_error, {{"reason", done.error().text}});
    return done.has_value();
}

bool NodePublisher::publish_now() {
    std::shared_ptr<const NodeInventory> wanted;
    bool is_released = false;
    {
        const MutexLock lock(mutex_);
        due_ = false;
        wanted = wanted_;
        is_released = is_released_;
    }
    if (wanted == nullptr) return true;
    if (!publish(*wanted, is_released)) return false;
    const MutexLock lock(mutex_);
    published_ = wanted;
    return true;
}

void NodePublisher::run(const std::stop_token& stop) {
    bool published = true;
    MutexLock lock(mutex_);
    while (!stop.stop_requested()) {
        const auto period = published ? options_.check_period : options_.retry_period;
        wake_.wait_for(lock, stop, period, [this]() TESSERA_REQUIRES(mutex_) { return due_; });
        if (stop.stop_requested()) return;
        lock.unlock();
        published = publish_now();
        lock.lock();
    }
}

}  // namespace tessera
