#include "app/agent/cards.hpp"

#include <chrono>
#include <set>
#include <thread>

#include "base/log.hpp"
#include "wire/keys.hpp"
#include "wire/node_gpus_json.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

void log_changes(const NodeInventory& before, const NodeInventory& now) {
    for (const Gpu& gpu : now.gpus) {
        bool was_healthy = true;
        for (const Gpu& old : before.gpus) {
            if (old.uuid == gpu.uuid) was_healthy = old.healthy;
        }
        if (was_healthy == gpu.healthy) continue;
        log_event(gpu.healthy ? Event::gpu_recovered : Event::gpu_unhealthy,
                  {{"uuid", gpu.uuid.str()}, {"reason", gpu.reason}});
    }
}

}  // namespace

Cards::Cards(GpuInventory& driver, KubeApi& kube, DevicePluginHost& plugins, CardsOptions options)
    : driver_(driver),
      kube_(kube),
      plugins_(plugins),
      options_(std::move(options)),
      inventory_(std::make_shared<const NodeInventory>()) {}

Result<> Cards::load() {
    TRY(NodeInventory now, read());
    TRY_VOID(check_list_sizes(now, options_.lists));
    log_event(Event::gpus_found, {{"count", static_cast<int>(now.gpus.size())}});
    const std::scoped_lock lock(mutex_);
    inventory_ = std::make_shared<const NodeInventory>(std::move(now));
    return {};
}

std::shared_ptr<const NodeInventory> Cards::inventory() const {
    const std::scoped_lock lock(mutex_);
    return inventory_;
}

Result<NodeInventory> Cards::read() {
    TRY(const auto readings, driver_.read());
    NodeInventory node{.name = options_.node, .unit = options_.unit};
    std::set<GpuUuid> seen;
    for (const GpuReading& reading : readings) {
        if (!seen.insert(reading.uuid).second) {
            return fail(Code::corrupt,
                        "the driver shows two cards with UUID " + reading.uuid.str());
        }
        health_.on_probe(reading.uuid,
                         {.lost = reading.lost,
                          .needs_recovery = reading.recovery == RecoveryAction::needed,
                          .recovered = reading.recovery == RecoveryAction::none});
        const std::string reason = health_.reason(reading.uuid);
        node.gpus.push_back({.uuid = reading.uuid,
                             .index = reading.index,
                             .minor = reading.minor,
                             .model = reading.model,
                             .memory = reading.memory,
                             .reserved = reading.reserved,
                             .healthy = reason.empty(),
                             .reason = reason});
    }
    return node;
}

void Cards::take_faults(const GpuFault& fault) {
    for (const Gpu& gpu : inventory()->gpus) {
        if (!fault.uuid || *fault.uuid == gpu.uuid) health_.on_fault(gpu.uuid, fault.xid);
    }
}

// One state change sends one list per resource and one patch, whatever the number of devices.
void Cards::publish(const NodeInventory& now) {
    plugins_.set_lists(device_lists(now, options_.lists));
    const StringMap annotations = {
        {std::string(key::kGpus), write_node_gpus({now.unit, options_.identity, now.gpus})}};
    const StringMap amounts = node_amounts(now);
    const auto shown = kube_.node_shows(options_.node, annotations, amounts);
    if (shown && *shown) {
        published_ = true;
        return;
    }
    auto done = kube_.annotate_node(options_.node, annotations);
    if (done) done = kube_.set_node_resources(options_.node, amounts);
    if (!done) log_event(Event::api_trouble, {{"reason", done.error().text}});
    published_ = done.has_value();
}

void Cards::update(bool check_node) {
    auto now = read();
    if (!now) {
        if (!driver_failed_) log_event(Event::inventory_failed, {{"reason", now.error().text}});
        driver_failed_ = true;
        return;
    }
    driver_failed_ = false;
    const auto before = inventory();
    const bool changed = *before != *now;
    if (changed) {
        log_changes(*before, *now);
        const std::scoped_lock lock(mutex_);
        inventory_ = std::make_shared<const NodeInventory>(*now);
    }
    if (changed || !published_ || check_node) publish(*now);
}

void Cards::run(const std::stop_token& stop) {
    publish(*inventory());
    auto next_check = Clock::now() + options_.check_period;
    while (!stop.stop_requested()) {
        // Half a second at a time, so that a stop request does not wait for the driver.
        const auto until = Clock::now() + options_.probe_period;
        bool fault_seen = false;
        while (!fault_seen && !stop.stop_requested() && Clock::now() < until) {
            const auto fault = driver_.wait_fault(std::chrono::milliseconds(500));
            if (!fault) {
                std::this_thread::sleep_for(std::chrono::milliseconds(500));
            } else if (*fault) {
                take_faults(**fault);
                fault_seen = true;
            }
        }
        if (stop.stop_requested()) return;
        const bool check_node = check_soon_.exchange(false) || Clock::now() >= next_check;
        if (check_node) next_check = Clock::now() + options_.check_period;
        update(check_node);
    }
}

}  // namespace tessera
