#include "app/agent/cards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>
#include <thread>
#include <tuple>

#include "app/agent/excess.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

// One failed reading may be a hiccup of the driver; so many in a row are an answer.
constexpr int kPatience = 3;
// After each of this many more failed readings the driver is reopened again.
constexpr int kReopenEvery = 3;

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
    has_answered_ = is_answered(now);
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
    keep_known(node, *inventory());
    node.handover_fault = handover_fault(node.gpus);
    return node;
}

// What was known of a GPU, and the driver does not say any more: pods may still hold shares of it.
void Cards::keep_known(NodeInventory& node, const NodeInventory& before) {
    for (const Gpu& known : before.gpus) {
        const auto now = std::ranges::find(node.gpus, known.uuid, &Gpu::uuid);
        if (now != node.gpus.end()) {
            if (now->memory > Bytes{}) continue;
            now->memory = known.memory;
            now->reserved = known.reserved;
        } else if (known.uuid != unidentified_gpu(known.index)) {
            node.gpus.push_back(known);
            node.gpus.back().condition = GpuCondition::unhealthy;
            node.gpus.back().reason = "the driver no longer lists it";
        }
    }
    std::ranges::sort(node.gpus, {}, [](const Gpu& gpu) { return std::tie(gpu.index, gpu.uuid); });
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
NodeInventory Cards::none_usable(NodeInventory node, GpuCondition condition,
                                 const std::string& reason) {
    for (Gpu& gpu : node.gpus) {
        if (!gpu.usable()) continue;
        gpu.condition = condition;
        gpu.reason = reason;
    }
    return node;
}

NodeInventory Cards::without_driver(NodeInventory node, const Error& error) {
    return none_usable(std::move(node), GpuCondition::unhealthy,
                       "the driver does not answer: " + error.text);
}

Result<> Cards::reopen() {
    const Call call(*this);
    return driver_.reopen();
}

// Whether any GPU answered the last reading, or there is none to answer.
bool Cards::is_answered(const Result<NodeInventory>& now) const {
    if (!now) return false;
    const std::scoped_lock lock(mutex_);
    return readings_.empty() || std::ranges::any_of(readings_, [](const GpuReading& reading) {
               return reading.lost.empty();
           });
}

// Counts a reading in which no GPU answered. From the third one in a row on, the driver is reopened
// every few readings, because a reload takes it a while.
Result<NodeInventory> Cards::read_again(Result<NodeInventory> now) {
    if (failed_reads_ == 0) {
        log_event(Event::inventory_failed,
                  {{"reason", now ? std::string("no GPU answers") : now.error().text}});
        failing_since_ = Clock::now();
    }
    ++failed_reads_;
    if (failed_reads_ < kPatience || (failed_reads_ - kPatience) % kReopenEvery != 0) return now;
    const auto reopened = reopen();
    return reopened ? read() : fail(reopened.error());
}

void Cards::update() {
    auto now = read();
    if (!is_answered(now)) now = read_again(std::move(now));
    if (is_answered(now)) {
        failed_reads_ = 0;
        has_answered_ = true;
    } else if (failed_reads_ >= kPatience &&
               Clock::now() - failing_since_ >= options_.failure_patience &&
               (!now || has_answered_)) {
        // A process to which no GPU has ever answered is followed by another one of that kind.
        give_up("the driver answers for no GPU; a new process asks it again");
    }
    if (!now && failed_reads_ < kPatience) return;
    if (!now) now = without_driver(*inventory(), now.error());
    const auto before = inventory();
    if (*before == *now) {
        if (read_excess() != excess_) publish();
        return;
    }
    log_changes(*before, *now);
    show(*std::move(now));
}

void Cards::replace(NodeInventory now) {
    log_changes(*inventory(), now);
    show(std::move(now));
}

void Cards::release(const std::string& label) {
    if (before_release_ == nullptr) {
        before_release_ = inventory();
        const Call call(*this);
        driver_.close();
        is_released_ = true;
        log_event(Event::driver_released, {{"label", label}});
    }
    replace(none_usable(
        *before_release_, GpuCondition::not_shareable,
        fmt::format("the agent has let go of the driver, as the node's label {} asks", label)));
}

// The driver may have been released for a reset, so earlier faults are forgotten and read again.
void Cards::take_up() {
    log_event(Event::driver_in_use, {});
    const auto before = std::move(before_release_);
    before_release_ = nullptr;
    health_ = {};
    {
        const std::scoped_lock lock(mutex_);
        read_at_ = Clock::now();
    }
    is_released_ = false;
    const auto reopened = reopen();
    auto now = reopened ? read() : Result<NodeInventory>(fail(reopened.error()));
    failed_reads_ = 0;
    if (!now) {
        log_event(Event::inventory_failed, {{"reason", now.error().text}});
        failing_since_ = Clock::now();
        failed_reads_ = kPatience;
        now = without_driver(*before, now.error());
    }
    replace(*std::move(now));
}

// Runs between two probes, when this thread is in no call of the driver. False while the driver is
// released.
bool Cards::follow_release() {
    const std::string label = publisher_.release_label();
    if (label == released_for_) return label.empty();
    released_for_ = label;
    if (label.empty()) {
        take_up();
    } else {
        release(label);
    }
    return false;
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
    const NodeInventory now = without_driver(*before, {Code::unavailable, reason});
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
        none_usable(*inventory(), GpuCondition::not_shareable,
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
            if (follow_release()) update();
        }
    }
    leave();
}

}  // namespace tessera
