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
    return {readings_, Clock::now() - read_at_};
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
                       .handover_fault = handover_fault(readings)};
    std::set<GpuUuid> seen;
    for (const GpuReading& reading : readings) {
        if (!seen.insert(reading.uuid).second) {
            return fail(Code::corrupt,
                        "the driver shows two cards with UUID " + reading.uuid.str());
        }
        health_.on_probe(reading.uuid, {.lost = reading.lost, .recovery = reading.recovery});
        const std::string reason = health_.reason(reading.uuid);
        node.gpus.push_back({.uuid = reading.uuid,
                             .index = reading.index,
                             .minor = reading.minor,
                             .model = reading.model,
                             .memory = reading.memory,
                             .reserved = reading.reserved,
                             .healthy = reason.empty(),
                             .reason = reason,
                             .links = reading.links});
    }
    return node;
}

// The first one's: they mostly have one cause.
std::string Cards::handover_fault(const std::vector<GpuReading>& readings) const {
    if (options_.cdi == nullptr) return {};
    for (const GpuReading& reading : readings) {
        const auto device = options_.cdi->vendor_device(reading.uuid, reading.minor);
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
    publisher_.show(std::make_shared<const NodeInventory>(with_excess(now, excess)));
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

// What a driver that stays silent leaves us: the cards as they were, and none of them to be used. A
// card that was out already keeps its own reason.
NodeInventory Cards::without_driver(const Error& error) {
    NodeInventory node = *inventory();
    for (Gpu& gpu : node.gpus) {
        if (!gpu.healthy) continue;
        gpu.healthy = false;
        gpu.reason = "the driver does not answer: " + error.text;
    }
    return node;
}

void Cards::update() {
    auto now = read();
    if (!now) {
        if (failed_reads_++ == 0)
            log_event(Event::inventory_failed, {{"reason", now.error().text}});
        if (failed_reads_ < kPatience) return;
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

// Returns when the next probe is due, or at once after a fault.
void Cards::wait_for_fault(const std::stop_token& stop) {
    const auto until = Clock::now() + options_.probe_period;
    while (!stop.stop_requested() && Clock::now() < until) {
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
        log_event(Event::failed, {{"reason",
                                   "the driver does not return from a call; a new "
                                   "process asks it again"}});
        if (!options_.on_hang) std::_Exit(EXIT_FAILURE);
        options_.on_hang();
        return;
    }
}

void Cards::leave() {
    NodeInventory now = *inventory();
    for (Gpu& gpu : now.gpus) {
        if (!gpu.healthy) continue;
        gpu.healthy = false;
        gpu.reason = "the agent of this node is stopping; its pods wait for the next one";
    }
    publisher_.show(std::make_shared<const NodeInventory>(with_excess(now, excess_)));
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
            update();
        }
    }
    leave();
}

}  // namespace tessera
