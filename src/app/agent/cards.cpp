#include "app/agent/cards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>
#include <thread>

#include "app/agent/excess.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

// One failed reading may be a hiccup of the driver; so many in a row are an answer.
constexpr int kPatience = 3;

Event event_of(GpuCondition condition) {
    switch (condition) {
        case GpuCondition::healthy:
            return Event::gpu_recovered;
        case GpuCondition::unhealthy:
            return Event::gpu_unhealthy;
        case GpuCondition::not_shareable:
            return Event::gpu_not_shareable;
    }
    return Event::gpu_unhealthy;
}

void log_changes(const NodeInventory& before, const NodeInventory& now) {
    for (const Gpu& gpu : now.gpus) {
        GpuCondition was = GpuCondition::healthy;
        for (const Gpu& old : before.gpus) {
            if (old.uuid == gpu.uuid) was = old.condition;
        }
        if (was == gpu.condition) continue;
        log_event(event_of(gpu.condition), {{"uuid", gpu.uuid.str()}, {"reason", gpu.reason}});
    }
}

}  // namespace

class Cards::Call {
  public:
    // `waits`: for how long it may wait by design.
    explicit Call(Cards& cards, std::chrono::milliseconds waits = {}) : cards_(cards) {
        const std::scoped_lock lock(cards_.mutex_);
        cards_.asking_since_ = Clock::now() + waits;
    }
    ~Call() {
        const std::scoped_lock lock(cards_.mutex_);
        cards_.asking_since_.reset();
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

  private:
    Cards& cards_;
};

Cards::Cards(GpuInventory& driver, KubeApi& kube, DevicePluginHost& plugins, CardsOptions options,
             const ShareHolder* shares)
    : driver_(driver),
      plugins_(plugins),
      options_(std::move(options)),
      shares_(shares),
      publisher_(kube, options_.publishing),
      inventory_(std::make_shared<const NodeInventory>()) {}

Result<> Cards::load() {
    const std::jthread watching([&](const std::stop_token& end) { watch(end); });
    TRY(NodeInventory now, read());
    TRY_VOID(check_list_sizes(now, options_.lists));
    log_event(Event::gpus_found, {{"count", static_cast<int>(now.gpus.size())}});
    log_changes({}, now);
    const std::scoped_lock lock(mutex_);
    inventory_ = std::make_shared<const NodeInventory>(std::move(now));
    return {};
}

std::shared_ptr<const NodeInventory> Cards::inventory() const {
    const std::scoped_lock lock(mutex_);
    return inventory_;
}

CardReadings Cards::readings() const {
    const std::scoped_lock lock(mutex_);
    return {readings_, Clock::now() - read_at_, is_released_};
}

Result<NodeInventory> Cards::read() {
    const auto read = [&] {
        const Call call(*this);
        return driver_.read();
    };
    TRY(const auto readings, read());
    {
        const std::scoped_lock lock(mutex_);
        readings_ = readings;
        read_at_ = Clock::now();
    }
    NodeInventory node{.name = options_.node,
                       .unit = options_.unit,
                       .enforcement_fault = options_.enforcement_fault,
                       .handover_fault = {}};
    std::set<GpuUuid> seen;
    for (const GpuReading& reading : readings) {
        if (!seen.insert(reading.uuid).second) {
            return fail(Code::corrupt,
                        "the driver shows two cards with UUID " + reading.uuid.str());
        }
        health_.on_probe(
            reading.uuid,
            {.lost = reading.lost, .recovery = reading.recovery, .memory = reading.faults});
        const std::string fault = health_.reason(reading.uuid);
        const std::string obstacle = why_not_shareable(reading.uuid, reading.setup);
        const GpuCondition condition = !fault.empty()      ? GpuCondition::unhealthy
                                       : !obstacle.empty() ? GpuCondition::not_shareable
                                                           : GpuCondition::healthy;
        node.gpus.push_back({.uuid = reading.uuid,
                             .index = reading.index,
                             .minor = reading.minor,
                             .model = reading.model,
                             .memory = reading.memory,
                             .reserved = reading.reserved,
                             .condition = condition,
                             .reason = !fault.empty() ? fault : obstacle,
                             .links = reading.links});
    }
    node.handover_fault = handover_fault(node.gpus);
    return node;
}

// The first one's: they mostly have one cause. Of those that are given.
std::string Cards::handover_fault(const std::vector<Gpu>& gpus) const {
    if (options_.cdi == nullptr) return {};
    for (const Gpu& gpu : gpus) {
        if (!gpu.usable()) continue;
        const auto device = options_.cdi->vendor_device(gpu.uuid, gpu.minor);
        if (!device) return device.error().text;
    }
    return {};
}

void Cards::take_faults(const GpuFault& fault) {
    for (const Gpu& gpu : inventory()->gpus) {
        if (!fault.uuid || *fault.uuid == gpu.uuid) health_.on_fault(gpu.uuid, fault.xid);
    }
}

void Cards::publish() {
    excess_ = read_excess();
    const std::scoped_lock lock(showing_);
    send(*inventory(), excess_);
}

// One state change sends one list per resource and one patch, whatever the number of devices.
// Kubelet first: it is here, and the API server may be out of reach. Kubelet counts what pods asked
// for when they came, so the excess is for who places them alone.
void Cards::send(const NodeInventory& now, const std::map<GpuUuid, Bytes>& excess) {
    plugins_.set_lists(device_lists(now, options_.lists));
    publisher_.show(std::make_shared<const NodeInventory>(with_excess(now, excess)), is_released_);
}

void Cards::show(NodeInventory now) {
    excess_ = read_excess();
    const std::scoped_lock showing(showing_);
    {
        const std::scoped_lock lock(mutex_);
        inventory_ = std::make_shared<const NodeInventory>(std::move(now));
    }
    send(*inventory(), excess_);
}

std::map<GpuUuid, Bytes> Cards::read_excess() const {
    return shares_ == nullptr ? std::map<GpuUuid, Bytes>{} : excess_by_card(shares_->uses());
}

// The cards as they were, and none of them to be used. One that was out already keeps its own
// reason.
NodeInventory Cards::none_usable(GpuCondition condition, const std::string& reason) const {
    NodeInventory node = *inventory();
    for (Gpu& gpu : node.gpus) {
        if (!gpu.usable()) continue;
        gpu.condition = condition;
        gpu.reason = reason;
    }
    return node;
}

NodeInventory Cards::without_driver(const Error& error) const {
    return none_usable(GpuCondition::unhealthy, "the driver does not answer: " + error.text);
}

Result<> Cards::reopen() {
    const Call call(*this);
    return driver_.reopen();
}

void Cards::update() {
    auto now = read();
    if (!now && failed_reads_ + 1 >= kPatience) {
        const auto reopened = reopen();
        now = reopened ? read() : fail(reopened.error());
    }
    if (!now) {
        if (failed_reads_++ == 0) {
            log_event(Event::inventory_failed, {{"reason", now.error().text}});
            failing_since_ = Clock::now();
        }
        if (failed_reads_ < kPatience) return;
        if (Clock::now() - failing_since_ >= options_.failure_patience)
            give_up("the driver answers nothing; a new process asks it again");
        now = without_driver(now.error());
    } else {
        failed_reads_ = 0;
    }
    const auto before = inventory();
    if (*before == *now) {
        if (read_excess() != excess_) publish();
        return;
    }
    log_changes(*before, *now);
    show(*std::move(now));
}

// Between two probes, so that nobody else of this thread is in a call.
void Cards::follow_release() {
    const std::string label = publisher_.release_label();
    if (label == released_for_) return;
    const bool was_released = !released_for_.empty();
    released_for_ = label;
    if (!label.empty()) {
        if (!was_released) {
            const Call call(*this);
            driver_.close();
        }
        is_released_ = true;
        log_event(Event::driver_released, {{"label", label}});
        const auto before = inventory();
        NodeInventory now = none_usable(
            GpuCondition::not_shareable,
            fmt::format("the agent has let go of the driver, as the node's label {} asks", label));
        log_changes(*before, now);
        show(std::move(now));
        return;
    }
    is_released_ = false;
    log_event(Event::driver_in_use, {});
    // Where it does not come up, each update tries again.
    const auto reopened = reopen();
    if (!reopened) log_event(Event::inventory_failed, {{"reason", reopened.error().text}});
    failed_reads_ = reopened ? 0 : kPatience;
    failing_since_ = Clock::now();
}

// Returns when the next probe is due, or at once after a fault or when a label of the Node changed.
void Cards::wait_for_fault(const std::stop_token& stop) {
    const auto until = Clock::now() + options_.probe_period;
    while (!stop.stop_requested() && Clock::now() < until &&
           publisher_.release_label() == released_for_) {
        // Half a second at a time, so that a stop request does not wait for the driver.
        constexpr std::chrono::milliseconds kAtOnce{500};
        const auto fault = [&] {
            const Call call(*this, kAtOnce);
            return driver_.wait_fault(kAtOnce);
        }();
        if (!fault) {
            std::this_thread::sleep_for(std::chrono::milliseconds(500));
        } else if (*fault) {
            take_faults(**fault);
            return;
        }
    }
}

// For how long the driver has not answered the call that is under way, where that is too long.
std::optional<std::chrono::milliseconds> Cards::hung_for() const {
    const std::scoped_lock lock(mutex_);
    if (!asking_since_) return std::nullopt;
    const auto since =
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - *asking_since_);
    return since < options_.hang_bound ? std::nullopt : std::optional(since);
}

// What the thread that waits for the driver cannot do. It puts this right when it is back: it finds
// other GPUs than those that are shown.
void Cards::take_out() {
    const auto excess = read_excess();
    const std::scoped_lock showing(showing_);
    const auto hung = hung_for();
    if (!hung) return;
    const auto before = inventory();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*hung).count();
    const std::string reason = fmt::format("a call has not returned for {} s", seconds);
    NodeInventory now = without_driver({Code::unavailable, reason});
    if (now == *before) return;
    log_event(Event::inventory_failed, {{"reason", reason}});
    log_changes(*before, now);
    {
        const std::scoped_lock lock(mutex_);
        inventory_ = std::make_shared<const NodeInventory>(now);
    }
    send(now, excess);
}

// No call into the driver has a deadline, and a thread that is in one cannot be taken out of it.
void Cards::watch(const std::stop_token& stop) {
    constexpr std::chrono::milliseconds kPeriod{1'000};
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
        wake.wait_for(lock, stop, std::min(kPeriod, options_.hang_bound), [] { return false; });
        const auto hung = hung_for();
        if (!hung || stop.stop_requested()) continue;
        take_out();
        if (*hung < options_.hang_patience) continue;
        give_up("the driver does not return from a call; a new process asks it again");
        return;
    }
}

void Cards::give_up(const char* reason) const {
    log_event(Event::failed, {{"reason", reason}});
    if (!options_.give_up) std::_Exit(EXIT_FAILURE);
    options_.give_up();
}

void Cards::leave() {
    const NodeInventory now =
        none_usable(GpuCondition::not_shareable,
                    "the agent of this node is stopping; its pods wait for the next one");
    publisher_.show(std::make_shared<const NodeInventory>(with_excess(now, excess_)), is_released_);
    publisher_.publish_now();
}

void Cards::run(const std::stop_token& stop) {
    {
        const std::jthread api([&](const std::stop_token& end) { publisher_.run(end); });
        const std::jthread watching([&](const std::stop_token& end) { watch(end); });
        publish();
        while (true) {
            wait_for_fault(stop);
            if (stop.stop_requested()) break;
            follow_release();
            if (released_for_.empty()) update();
        }
    }
    leave();
}

}  // namespace tessera
