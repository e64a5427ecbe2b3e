#include "app/agent/node_publisher.hpp"

#include "app/agent/device_lists.hpp"
#include "base/log.hpp"
#include "wire/keys.hpp"
#include "wire/node_gpus_json.hpp"

namespace tessera {

NodePublisher::NodePublisher(KubeApi& kube, NodePublisherOptions options)
    : kube_(kube), options_(std::move(options)) {}

void NodePublisher::show(std::shared_ptr<const NodeInventory> node) {
    {
        const std::scoped_lock lock(mutex_);
        wanted_ = std::move(node);
        due_ = true;
    }
    wake_.notify_all();
}

void NodePublisher::check_soon() {
    {
        const std::scoped_lock lock(mutex_);
        due_ = true;
    }
    wake_.notify_all();
}

bool NodePublisher::publish(const NodeInventory& node) {
    const StringMap annotations = {
        {std::string(key::kGpus), write_node_gpus({.unit = node.unit,
                                                   .identity = options_.identity,
                                                   .shares = options_.shares,
                                                   .gpus = node.gpus,
                                                   .enforcement_fault = node.enforcement_fault,
                                                   .handover_fault = node.handover_fault})}};
    const StringMap amounts = node_amounts(node);
    const auto shown = kube_.node_shows(node.name, annotations, amounts);
    if (shown && *shown) return true;
    auto done = kube_.annotate_node(node.name, annotations);
    if (done) done = kube_.set_node_resources(node.name, amounts);
    if (!done) log_event(Event::api_trouble, {{"reason", done.error().text}});
    return done.has_value();
}

bool NodePublisher::publish_now() {
    std::shared_ptr<const NodeInventory> wanted;
    {
        const std::scoped_lock lock(mutex_);
        due_ = false;
        wanted = wanted_;
    }
    return wanted == nullptr || publish(*wanted);
}

void NodePublisher::run(const std::stop_token& stop) {
    bool published = true;
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
        const auto period = published ? options_.check_period : options_.retry_period;
        wake_.wait_for(lock, stop, period, [&] { return due_; });
        if (stop.stop_requested()) return;
        lock.unlock();
        published = publish_now();
        lock.lock();
    }
}

}  // namespace tessera
