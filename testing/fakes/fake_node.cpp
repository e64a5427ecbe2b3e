#include "testing/fakes/fake_node.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace tessera {

std::vector<GpuReading> FakeGpuInventory::gpus(int count, Bytes each) {
    std::vector<GpuReading> out;
    for (int i = 0; i < count; ++i) {
        GpuReading reading;
        reading.uuid = GpuUuid("GPU-" + std::to_string(i));
        reading.index = reading.minor = i;
        reading.model = "Simulated T4";
        reading.memory = each;
        out.push_back(std::move(reading));
    }
    return out;
}

void FakeGpuInventory::set(Result<std::vector<GpuReading>> readings) {
    const std::scoped_lock lock(mutex_);
    readings_ = std::move(readings);
}

void FakeGpuInventory::report(const GpuFault& fault) {
    const std::scoped_lock lock(mutex_);
    faults_.push_back(fault);
    changed_.notify_all();
}

int FakeGpuInventory::reads() const {
    const std::scoped_lock lock(mutex_);
    return reads_;
}

Result<std::vector<GpuReading>> FakeGpuInventory::read() {
    const std::scoped_lock lock(mutex_);
    ++reads_;
    if (!is_open_ || is_stale_) return fail(Code::unavailable, "Unknown Error");
    return readings_;
}

Result<> FakeGpuInventory::reopen() {
    const std::scoped_lock lock(mutex_);
    ++reopens_;
    is_open_ = true;
    is_stale_ = false;
    return {};
}

void FakeGpuInventory::close() {
    const std::scoped_lock lock(mutex_);
    is_open_ = false;
}

void FakeGpuInventory::reload() {
    const std::scoped_lock lock(mutex_);
    is_stale_ = true;
}

bool FakeGpuInventory::is_open() const {
    const std::scoped_lock lock(mutex_);
    return is_open_;
}

int FakeGpuInventory::reopens() const {
    const std::scoped_lock lock(mutex_);
    return reopens_;
}

void FakeGpuInventory::set_processes(Result<std::vector<GpuProcess>> processes) {
    const std::scoped_lock lock(mutex_);
    processes_ = std::move(processes);
}

Result<std::vector<GpuProcess>> FakeGpuInventory::processes() {
    const std::scoped_lock lock(mutex_);
    return processes_;
}

Result<std::optional<GpuFault>> FakeGpuInventory::wait_fault(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    // Waits for a shorter time than requested, so that tests are fast.
    changed_.wait_for(lock, std::min(timeout, std::chrono::milliseconds(5)),
                      [this] { return !faults_.empty(); });
    if (faults_.empty()) return std::optional<GpuFault>{};
    GpuFault fault = faults_.front();
    faults_.pop_front();
    return std::optional(std::move(fault));
}

int FakeDevicePluginHost::sent(const std::string& resource) const {
    const std::scoped_lock lock(mutex_);
    const auto at = sent_.find(resource);
    return at == sent_.end() ? 0 : at->second;
}

std::vector<PluginDevice> FakeDevicePluginHost::devices(const std::string& resource) const {
    const std::scoped_lock lock(mutex_);
    const auto at = lists_.find(resource);
    return at == lists_.end() ? std::vector<PluginDevice>{} : at->second;
}

bool FakeDevicePluginHost::wait_until(const std::function<bool()>& done) {
    std::unique_lock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!done()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        changed_.wait_for(lock, std::chrono::milliseconds(5));
    }
    return true;
}

void FakeDevicePluginHost::set_lists(DeviceLists lists) {
    const std::scoped_lock lock(mutex_);
    for (const auto& [resource, devices] : lists) {
        const auto before = lists_.find(resource);
        if (before == lists_.end() || before->second != devices) ++sent_[resource];
    }
    lists_ = std::move(lists);
    changed_.notify_all();
}

int FakeDevicePluginHost::refreshes() const {
    const std::scoped_lock lock(mutex_);
    return refreshes_;
}

void FakeDevicePluginHost::refresh_record() {
    const std::scoped_lock lock(mutex_);
    ++refreshes_;
}

void FakeDevicePluginHost::run(DevicePluginHandler&, const std::function<void()>&,
                               std::stop_token stop) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [] { return false; });
}

void FakeDeviceHolders::set(Result<std::vector<DeviceHolder>> holders) {
    const std::scoped_lock lock(mutex_);
    holders_ = std::move(holders);
}

void FakeDeviceHolders::add(DeviceHolder holder) {
    const std::scoped_lock lock(mutex_);
    holders_->push_back(std::move(holder));
}

void FakeDeviceHolders::on_list(std::function<void()> hook) {
    const std::scoped_lock lock(mutex_);
    on_list_ = std::move(hook);
}

Result<std::vector<DeviceHolder>> FakeDeviceHolders::list() {
    std::unique_lock lock(mutex_);
    auto answer = holders_;
    if (const auto hook = on_list_) {
        lock.unlock();
        hook();
    }
    return answer;
}

void FakeCdiStore::add_vendor_device(const std::string& uuid_or_minor) {
    const std::scoped_lock lock(mutex_);
    vendor_.insert(uuid_or_minor);
}

void FakeCdiStore::refuse_next_write(Error error) {
    const std::scoped_lock lock(mutex_);
    error_ = std::move(error);
}

std::map<std::string, ContainerEdits> FakeCdiStore::shares() const {
    const std::scoped_lock lock(mutex_);
    return shares_;
}

Result<CdiDevice> FakeCdiStore::vendor_device(const GpuUuid& uuid, int minor) {
    const std::scoped_lock lock(mutex_);
    for (const std::string& name : {uuid.str(), std::to_string(minor)}) {
        if (vendor_.contains(name))
            return CdiDevice{"nvidia.com/gpu=" + name, {"/dev/nvidia" + std::to_string(minor)}, {}};
    }
    return fail(Code::not_found, "no CDI device for " + uuid.str() + " in /etc/cdi");
}

Result<> FakeCdiStore::write_share(const std::string& name, const ContainerEdits& edits) {
    const std::scoped_lock lock(mutex_);
    if (const auto error = std::exchange(error_, std::nullopt)) return fail(*error);
    shares_.insert_or_assign(name, edits);
    return {};
}

void FakeCdiStore::keep_only_shares(const std::set<std::string>& names) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(shares_, [&](const auto& share) { return !names.contains(share.first); });
}

}  // namespace tessera
