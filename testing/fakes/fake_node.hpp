// The parts of a GPU node behind their ports: driver, kubelet's device plugins, kubelet's record of
// who holds what, and the runtime's CDI folder. Any thread may call.
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
#include "ports/share_holder.hpp"

namespace tessera {

class FakeGpuInventory final : public GpuInventory {
  public:
    // Equal cards "GPU-<i>".
    static std::vector<GpuReading> cards(int count, Bytes each);

    void set(Result<std::vector<GpuReading>> readings);
    // Comes out of the next wait_fault.
    void report(const GpuFault& fault);
    // How often read() was called.
    [[nodiscard]] int reads() const;
    void set_processes(Result<std::vector<GpuProcess>> processes);

    Result<std::vector<GpuReading>> read() override;
    Result<std::vector<GpuProcess>> processes() override;
    Result<std::optional<GpuFault>> wait_fault(std::chrono::milliseconds timeout) override;
    Result<> reopen() override;
    void close() override;

    // Until reopen(), as of a reloaded driver, every call fails.
    void load_anew();
    [[nodiscard]] bool is_open() const;
    // How often reopen() was called.
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
    // Lists that kubelet was sent: one that equals the last one is none.
    [[nodiscard]] int sent(const std::string& resource) const;
    [[nodiscard]] std::vector<PluginDevice> devices(const std::string& resource) const;
    // Waits until `done` of this host; false after ten seconds.
    bool wait_until(const std::function<bool()>& done);

    // How often the record was asked for anew.
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
    // Called by list() between reading and returning: what happens meanwhile is not in the answer.
    void on_list(std::function<void()> hook);

    Result<std::vector<DeviceHolder>> list() override;

  private:
    std::mutex mutex_;
    Result<std::vector<DeviceHolder>> holders_;
    std::function<void()> on_list_;
};

class FakeCdiStore final : public CdiStore {
  public:
    // The vendor's spec knows a card by this UUID, or has a device of this number for the card with
    // this minor.
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

// Notes what it was asked for; gives one mount per container.
class FakeShareHolder final : public ShareHolder {
  public:
    void refuse_next(Error error) { error_ = std::move(error); }

    [[nodiscard]] std::vector<std::string> mount_points() const override {
        return {"/guard", "/etc/ld.so.preload"};
    }
    [[nodiscard]] bool is_ours(const std::string& source) const override {
        return source != "/elsewhere";
    }
    [[nodiscard]] Result<> check_mounted(const HeldContainer& container,
                                         std::int64_t pid) const override {
        if (covered.contains(pid))
            return fail(Code::conflict, "container " + container.container + ": covered");
        if (hidden.contains(pid))
            return fail(Code::unavailable, container.container + ": mounts cannot be checked");
        return {};
    }
    [[nodiscard]] std::optional<std::string> container_of(const PodUid&,
                                                          std::int64_t pid) const override {
        const auto container = containers.find(pid);
        return container == containers.end() ? std::nullopt : std::optional(container->second);
    }
    Result<std::vector<FileMount>> hold(const HeldContainer& container,
                                        const std::vector<HeldShare>& shares) override {
        if (const auto error = std::exchange(error_, std::nullopt)) return fail(*error);
        held[container.pod.str() + "/" + container.container] = shares;
        names.push_back(container.name);
        preload_lists.push_back(container.preload_list);
        return std::vector<FileMount>{
            {.source = "/" + container.container, .destination = "/guard"}};
    }
    [[nodiscard]] std::vector<ShareUse> uses() const override { return used; }
    [[nodiscard]] std::set<PodUid> pods() const override { return kept; }
    void forget(const PodUid& pod) override {
        kept.erase(pod);
        forgotten.push_back(pod);
    }
    [[nodiscard]] bool is_in_use(const PodUid& pod) const override { return in_use.contains(pod); }
    [[nodiscard]] std::set<PodUid> unreadable() const override { return strange; }
    [[nodiscard]] std::optional<ToldLimit> told(const ShareUse& use) const override {
        const auto of = noted.find(key_of(use));
        return of == noted.end() ? std::nullopt : std::optional(of->second);
    }
    void note_told(const ShareUse& use, const ToldLimit& told) override {
        noted[key_of(use)] = told;
    }
    [[nodiscard]] bool is_damage_told(const ShareUse& use) const override {
        return damage_told.contains(use.pod.str() + "/" + use.container);
    }
    void note_damage_told(const ShareUse& use, bool is_told) override {
        const std::string key = use.pod.str() + "/" + use.container;
        is_told ? void(damage_told.insert(key)) : void(damage_told.erase(key));
    }
    static std::string key_of(const ShareUse& use) {
        return use.pod.str() + "/" + use.container + "/" + use.card.str();
    }

    std::map<std::string, std::vector<HeldShare>> held;  // by UID/CONTAINER
    std::vector<PodName> names;                          // of those that were held, in order
    std::vector<std::string> preload_lists;              // likewise
    std::set<std::int64_t> covered;                      // pids whose mounts are not as given
    std::set<std::int64_t> hidden;                       // pids whose mounts cannot be read
    std::map<std::int64_t, std::string> containers;      // what container_of() says, by pid
    std::vector<ShareUse> used;                          // what uses() says
    std::set<PodUid> in_use;
    std::map<std::string, ToldLimit> noted;  // by UID/CONTAINER/CARD
    std::set<std::string> damage_told;       // by UID/CONTAINER
    std::set<PodUid> strange;                // what unreadable() says
    std::set<PodUid> kept;
    std::vector<PodUid> forgotten;

  private:
    std::optional<Error> error_;
};

}  // namespace tessera
