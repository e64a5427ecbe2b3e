#include "app/agent/inventory/gpu_monitor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "app/agent/enforcement/over_limit.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"

namespace tessera {
namespace {

using SteadyClock = std::chrono::steady_clock;

// One or two failed readings may be a hiccup of the driver. From this many in a row on, the driver
// counts as failed.
constexpr int kPatience = 3;
// After each further group of this many failed readings the driver is reopened again.
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

// MPS limits the compute of its clients from Volta on.
bool has_percentages(const GpuReading& gpu) {
    constexpr int kVolta = 7;
    return gpu.compute_major == 0 || gpu.compute_major >= kVolta;
}

}  // namespace

class GpuMonitor::Call {
  public:
    // `waits`: how long the call may wait by design.
    explicit Call(GpuMonitor& gpus, std::chrono::milliseconds waits = {}) : gpus_(gpus) {
        const MutexLock lock(gpus_.mutex_);
        gpus_.asking_since_ = SteadyClock::now() + waits;
    }
    ~Call() {
        const MutexLock lock(gpus_.mutex_);
        gpus_.asking_since_.reset();
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

  private:
    GpuMonitor& gpus_;
};

GpuMonitor::GpuMonitor(GpuInventory& driver, KubeApi& kube, DevicePluginHost& plugins,
                       GpuMonitorOptions options, const ShareMeter* shares)
    : driver_(driver),
      plugins_(plugins),
      options_(std::move(options)),
      excluded_(options_.excluded),
      shares_(shares),
      publisher_(kube, options_.publishing),
      inventory_(std::make_shared<const NodeInventory>()) {}

Result<> GpuMonitor::load() {
    const std::jthread watching([&](const std::stop_token& end) { watch(end); });
    TRY(NodeInventory now, read());
    TRY_VOID(check_list_sizes(now, options_.lists));
    std::map<int, GpuUuid> by_index;
    for (const Gpu& gpu : now.gpus)
        by_index.emplace(gpu.index, gpu.uuid);
    TRY_VOID(excluded_.resolve(by_index));
    log_event(Event::gpus_found, {{"count", static_cast<int>(now.gpus.size())}});
    log_changes({}, now);
    has_answered_ = is_answered(now);
    const MutexLock lock(mutex_);
    inventory_ = std::make_shared<const NodeInventory>(std::move(now));
    return {};
}

std::shared_ptr<const NodeInventory> GpuMonitor::inventory() const {
    const MutexLock lock(mutex_);
    return inventory_;
}

GpuReadings GpuMonitor::readings() const {
    const MutexLock lock(mutex_);
    return {readings_, SteadyClock::now() - read_at_, is_released_};
}

Result<> GpuMonitor::ready() const {
    const GpuReadings last = readings();
    if (!last.is_released && last.age > options_.hang_bound) {
        return fail(Code::unavailable,
                    fmt::format("the driver has not answered for {} s",
                                std::chrono::floor<std::chrono::seconds>(last.age).count()));
    }
    if (publisher_.is_published()) return {};
    return fail(Code::unavailable, "the Node does not show this agent's GPUs yet");
}

Result<NodeInventory> GpuMonitor::read() {
    const auto read = [&] {
        const Call call(*this);
        return driver_.read();
    };
    // Read before and after, because a GPU may enter or leave the mode meanwhile.
    std::vector<GpuUuid> in_mps_mode = gpus_in_mps_mode();
    TRY(const auto readings, read());
    std::ranges::move(gpus_in_mps_mode(), std::back_inserter(in_mps_mode));
    // MPS limits compute, and the guard memory.
    const bool offers_mps = options_.modes != nullptr && options_.enforcement_fault.empty() &&
                            options_.modes->offers_mps();
    {
        const MutexLock lock(mutex_);
        readings_ = readings;
        read_at_ = SteadyClock::now();
    }
    NodeInventory node{.name = options_.node,
                       .unit = options_.unit,
                       .enforcement_fault = options_.enforcement_fault,
                       .injection_fault = {}};
    std::set<GpuUuid> seen;
    for (const GpuReading& reading : readings) {
        if (!seen.insert(reading.uuid).second) {
            return fail(Code::corrupt, "the driver shows two GPUs with UUID " + reading.uuid.str());
        }
        health_.on_probe(
            reading.uuid,
            {.lost = reading.lost, .recovery = reading.recovery, .memory = reading.faults});
        // A GPU may be excluded because it has a fault, which then raises no alert.
        const bool is_excluded = excluded_.contains(reading.index, reading.uuid);
        const std::string fault = is_excluded ? "" : health_.reason(reading.uuid);
        GpuSetup setup = reading.setup;
        const bool admits_only_mps =
            setup.compute_mode == ComputeMode::exclusive &&
            std::ranges::find(in_mps_mode, reading.uuid) != in_mps_mode.end();
        if (admits_only_mps) setup.compute_mode = ComputeMode::shared;
        const std::string reason =
            is_excluded ? std::string(kExcludedReason) : why_not_shareable(reading.uuid, setup);
        const GpuCondition condition = !fault.empty()    ? GpuCondition::unhealthy
                                       : !reason.empty() ? GpuCondition::not_shareable
                                                         : GpuCondition::healthy;
        node.gpus.push_back({.uuid = reading.uuid,
                             .index = reading.index,
                             .minor = reading.minor,
                             .model = reading.model,
                             .memory = reading.memory,
                             .reserved = reading.reserved,
                             .condition = condition,
                             .reason = !fault.empty() ? fault : reason,
                             .links = reading.links,
                             .offers_mps = offers_mps && has_percentages(reading),
                             .limits_memory = limits_memory(reading.uuid),
                             .multiprocessors = reading.multiprocessors,
                             .mps_offenders = options_.mps_offenders
                                                  ? options_.mps_offenders(reading.uuid)
                                                  : std::vector<PodUid>()});
    }
    keep_known(node, *inventory());
    node.injection_fault = injection_fault(node.gpus);
    return node;
}

bool GpuMonitor::limits_memory(const GpuUuid& gpu) {
    if (options_.memory_limits == nullptr || !options_.enforcement_fault.empty()) return false;
    const auto does = [&] {
        const Call call(*this);
        return options_.memory_limits->check_supported(gpu);
    }();
    std::string& reason = memory_limit_faults_[gpu];
    const std::string now = does ? "" : does.error().text;
    if (std::exchange(reason, now) != now && !does)
        log_event(Event::memory_limit_error, {{"gpu", gpu.str()}, {"reason", now}});
    return options_.memory_limits->last_supported(gpu).has_value();
}

std::vector<GpuUuid> GpuMonitor::gpus_in_mps_mode() const {
    return options_.modes == nullptr ? std::vector<GpuUuid>() : options_.modes->gpus();
}

// Keeps what was known of a GPU that the driver no longer lists or no longer gives a size for: pods
// may still have shares of it.
void GpuMonitor::keep_known(NodeInventory& node, const NodeInventory& before) {
    for (const Gpu& known : before.gpus) {
        const auto now = std::ranges::find(node.gpus, known.uuid, &Gpu::uuid);
        if (now != node.gpus.end()) {
            if (now->multiprocessors == 0) now->multiprocessors = known.multiprocessors;
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

// The first fault of a usable GPU: the others mostly have the same cause.
std::string GpuMonitor::injection_fault(const std::vector<Gpu>& gpus) const {
    if (options_.cdi == nullptr) return {};
    for (const Gpu& gpu : gpus) {
        if (!gpu.usable()) continue;
        const auto device = options_.cdi->vendor_device(gpu.uuid, gpu.minor);
        if (!device) return device.error().text;
    }
    return {};
}

void GpuMonitor::take_faults(const GpuFault& fault) {
    for (const Gpu& gpu : inventory()->gpus) {
        if (!fault.uuid || *fault.uuid == gpu.uuid) health_.on_fault(gpu.uuid, fault.xid);
    }
}

void GpuMonitor::publish() {
    over_limit_ = read_over_limit();
    const MutexLock lock(showing_);
    send(*inventory(), over_limit_);
}

// One state change sends one list per resource and one patch, whatever the number of devices.
// Kubelet comes first: it is local, and the API server may be out of reach. Only the Node's
// annotation has the memory above lowered limits, which the scheduler reads. Kubelet counts what
// pods requested when they were admitted.
void GpuMonitor::send(const NodeInventory& now, const std::map<GpuUuid, Bytes>& over_limit) {
    plugins_.set_lists(device_lists(now, options_.lists));
    publisher_.show(std::make_shared<const NodeInventory>(with_over_limit(now, over_limit)),
                    is_released_);
}

void GpuMonitor::show(NodeInventory now) {
    over_limit_ = read_over_limit();
    const MutexLock showing(showing_);
    {
        const MutexLock lock(mutex_);
        inventory_ = std::make_shared<const NodeInventory>(std::move(now));
    }
    send(*inventory(), over_limit_);
}

std::map<GpuUuid, Bytes> GpuMonitor::read_over_limit() const {
    return shares_ == nullptr ? std::map<GpuUuid, Bytes>{}
                              : over_limit_by_gpu(shares_->usage().uses);
}

// Returns the GPUs with none of them usable. A GPU that was not usable before keeps its own reason.
NodeInventory GpuMonitor::none_usable(NodeInventory node, GpuCondition condition,
                                      const std::string& reason) {
    for (Gpu& gpu : node.gpus) {
        if (!gpu.usable()) continue;
        gpu.condition = condition;
        gpu.reason = reason;
    }
    return node;
}

NodeInventory GpuMonitor::without_driver(NodeInventory node, const Error& error) {
    return none_usable(std::move(node), GpuCondition::unhealthy,
                       "the driver does not answer: " + error.text);
}

Result<> GpuMonitor::reopen() {
    const Call call(*this);
    return driver_.reopen();
}

// Whether any GPU answered the last reading. True also if the node has no GPU.
bool GpuMonitor::is_answered(const Result<NodeInventory>& now) const {
    if (!now) return false;
    const MutexLock lock(mutex_);
    return readings_.empty() || std::ranges::any_of(readings_, [](const GpuReading& reading) {
               return reading.lost.empty();
           });
}

// Counts a reading in which no GPU answered. From the third one in a row on, the driver is reopened
// every few readings, because a reload of the driver takes a while.
Result<NodeInventory> GpuMonitor::read_again(Result<NodeInventory> now) {
    if (failed_reads_ == 0) {
        log_event(Event::inventory_failed,
                  {{"reason", now ? std::string("no GPU answers") : now.error().text}});
        failing_since_ = SteadyClock::now();
    }
    ++failed_reads_;
    if (failed_reads_ < kPatience || (failed_reads_ - kPatience) % kReopenEvery != 0) return now;
    const auto reopened = reopen();
    return reopened ? read() : fail(reopened.error());
}

void GpuMonitor::update() {
    auto now = read();
    if (!is_answered(now)) now = read_again(std::move(now));
    if (is_answered(now)) {
        failed_reads_ = 0;
        has_answered_ = true;
    } else if (failed_reads_ >= kPatience &&
               SteadyClock::now() - failing_since_ >= options_.failure_patience &&
               (!now || has_answered_)) {
        // If no GPU has ever answered this process, a new process would fail the same way.
        give_up("the driver answers for no GPU; a new process asks it again");
    }
    if (!now && failed_reads_ < kPatience) return;
    if (!now) now = without_driver(*inventory(), now.error());
    const auto before = inventory();
    if (*before == *now) {
        if (read_over_limit() != over_limit_) publish();
        return;
    }
    log_changes(*before, *now);
    show(*std::move(now));
}

void GpuMonitor::replace(NodeInventory now) {
    log_changes(*inventory(), now);
    show(std::move(now));
}

void GpuMonitor::release(const std::string& label) {
    if (before_release_ == nullptr) {
        before_release_ = inventory();
        const Call call(*this);
        driver_.close();
        if (options_.memory_limits != nullptr) options_.memory_limits->close();
        is_released_ = true;
        log_event(Event::driver_released, {{"label", label}});
    }
    replace(none_usable(
        *before_release_, GpuCondition::not_shareable,
        fmt::format("the agent has let go of the driver, as the node's label {} asks", label)));
}

// The driver may have been released for a GPU reset, so earlier faults are dropped and read again.
void GpuMonitor::take_up() {
    log_event(Event::driver_in_use, {});
    const auto before = std::move(before_release_);
    before_release_ = nullptr;
    health_ = {};
    {
        const MutexLock lock(mutex_);
        read_at_ = SteadyClock::now();
    }
    is_released_ = false;
    if (options_.memory_limits != nullptr) options_.memory_limits->open();
    const auto reopened = reopen();
    auto now = reopened ? read() : Result<NodeInventory>(fail(reopened.error()));
    failed_reads_ = 0;
    if (!now) {
        log_event(Event::inventory_failed, {{"reason", now.error().text}});
        failing_since_ = SteadyClock::now();
        failed_reads_ = kPatience;
        now = without_driver(*before, now.error());
    }
    replace(*std::move(now));
}

// Runs between two probes, while this thread is in no call of the driver. Returns true when the
// driver may be read. Returns false while it is released, and for the call that releases it or
// opens it again.
bool GpuMonitor::follow_release() {
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
void GpuMonitor::wait_for_fault(const std::stop_token& stop) {
    const auto until = SteadyClock::now() + options_.probe_period;
    while (!stop.stop_requested() && SteadyClock::now() < until &&
           publisher_.release_label() == released_for_) {
        // Waits half a second at a time, so that a stop request does not wait for the driver.
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

// How long the call that is under way has not returned, if that is longer than hang_bound.
std::optional<std::chrono::milliseconds> GpuMonitor::hung_for() const {
    const MutexLock lock(mutex_);
    if (!asking_since_) return std::nullopt;
    const auto since =
        std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - *asking_since_);
    return since < options_.hang_bound ? std::nullopt : std::optional(since);
}

// Runs in the watching thread while the reading thread hangs in the driver. When its call returns,
// the reading thread finds that the published GPUs differ from what it reads, and publishes again.
void GpuMonitor::take_out() {
    const auto over_limit = read_over_limit();
    const MutexLock showing(showing_);
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
        const MutexLock lock(mutex_);
        inventory_ = std::make_shared<const NodeInventory>(now);
    }
    send(now, over_limit);
}

// A second thread watches, because a call into the driver has no deadline and cannot be cancelled.
void GpuMonitor::watch(const std::stop_token& stop) {
    constexpr std::chrono::milliseconds kPeriod{1'000};
    Mutex mutex;
    std::condition_variable_any wake;
    MutexLock lock(mutex);
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

void GpuMonitor::give_up(const char* reason) const {
    log_event(Event::failed, {{"reason", reason}});
    if (!options_.give_up) std::_Exit(EXIT_FAILURE);
    options_.give_up();
}

void GpuMonitor::leave() {
    const NodeInventory now =
        none_usable(*inventory(), GpuCondition::not_shareable,
                    "the agent of this node is stopping; its pods wait for the next one");
    publisher_.show(std::make_shared<const NodeInventory>(with_over_limit(now, over_limit_)),
                    is_released_);
    publisher_.publish_now();
}

void GpuMonitor::run(const std::stop_token& stop) {
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
