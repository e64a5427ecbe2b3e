// The parts of a GPU node behind their ports: driver, kubelet's device plugins, kubelet's record of
// allocated devices, and the runtime's CDI folder. Any thread may call.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ports/cdi_store.hpp"
#include "ports/gpu_inventory.hpp"
#include "ports/kubelet.hpp"

namespace tessera {

class FakeGpuInventory final : public GpuInventory {
  public:
    // Returns equal GPUs with the UUIDs "GPU-<i>".
    static std::vector<GpuReading> gpus(int count, Bytes each);

    void set(Result<std::vector<GpuReading>> readings);
    // The next wait_fault() returns this fault.
    void report(const GpuFault& fault);
    // The number of calls of read().
    [[nodiscard]] int reads() const;
    void set_processes(Result<std::vector<GpuProcess>> processes);

    Result<std::vector<GpuReading>> read() override;
    Result<std::vector<GpuProcess>> processes() override;
    Result<std::optional<GpuFault>> wait_fault(std::chrono::milliseconds timeout) override;
    Result<> reopen() override;
    void close() override;

    // Simulates a reloaded driver: every call fails until reopen().
    void reload();
    [[nodiscard]] bool is_open() const;
    // The number of calls of reopen().
    [[nodiscard]] int reopens() const;

  private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    int reads_ = 0;
    int reopens_ = 0;
    bool is_open_ = true;
    bool is_stale_ = false;
    Result<std::vector<GpuReading>> readings_;
    Result<std::vector<GpuProcess>> processes_;
    std::deque<GpuFault> faults_;
};

class FakeDevicePluginHost final : public DevicePluginHost {
  public:
    // The number of lists that were sent to kubelet. A list equal to the previous one is not sent.
    [[nodiscard]] int sent(const std::string& resource) const;
    [[nodiscard]] std::vector<PluginDevice> devices(const std::string& resource) const;
    // Waits until `done` returns true; false after ten seconds.
    bool wait_until(const std::function<bool()>& done);

    // The number of calls of refresh_record().
    [[nodiscard]] int refreshes() const;

    void set_lists(DeviceLists lists) override;
    void refresh_record() override;
    void run(DevicePluginHandler& handler, const std::function<void()>& registered,
             std::stop_token stop) override;

  private:
    mutable std::recursive_mutex mutex_;
    std::condition_variable_any changed_;
    DeviceLists lists_;
    std::map<std::string, int> sent_;
    int refreshes_ = 0;
};

class FakeDeviceHolders final : public DeviceHolders {
  public:
    void set(Result<std::vector<DeviceHolder>> holders);
    void add(DeviceHolder holder);
    // Called in list() after it has read the record, so that later changes are not in its result.
    void on_list(std::function<void()> hook);

    Result<std::vector<DeviceHolder>> list() override;

  private:
    std::mutex mutex_;
    Result<std::vector<DeviceHolder>> holders_;
    std::function<void()> on_list_;
};

class FakeCdiStore final : public CdiStore {
  public:
    // Adds a device to the vendor's CDI specification, named by the GPU's UUID or its minor number.
    void add_vendor_device(const std::string& uuid_or_minor);
    void refuse_next_write(Error error);
    [[nodiscard]] std::map<std::string, ContainerEdits> shares() const;

    Result<CdiDevice> vendor_device(const GpuUuid& uuid, int minor) override;
    Result<> write_share(const std::string& name, const ContainerEdits& edits) override;
    void keep_only_shares(const std::set<std::string>& names) override;

  private:
    mutable std::mutex mutex_;
    std::set<std::string> vendor_;
    std::map<std::string, ContainerEdits> shares_;
    std::optional<Error> error_;
};

}  // namespace tessera
