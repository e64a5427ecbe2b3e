// Kubelet: the device plugins that it calls, and what it knows of who holds which device.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"

namespace tessera {

struct PluginDevice {
    std::string
        id;  // stable over restarts: kubelet's checkpoint remembers it; at most 63 characters
    bool healthy = true;

    friend bool operator==(const PluginDevice&, const PluginDevice&) = default;
};

// The whole list of every resource.
using DeviceLists = std::map<std::string, std::vector<PluginDevice>>;

// Answers kubelet. Called by many threads.
class DevicePluginHandler {
  public:
    virtual ~DevicePluginHandler() = default;

    // Returns CDI device names to hand over; may be none.
    virtual Result<std::vector<std::string>> allocate(const std::string& resource,
                                                      const std::vector<std::string>& ids) = 0;
    // An error keeps the container from starting; kubelet shows the text and tries again.
    virtual Result<> pre_start(const std::string& resource,
                               const std::vector<std::string>& ids) = 0;
};

class DevicePluginHost {
  public:
    virtual ~DevicePluginHost() = default;

    // Nothing is registered before the first call; the resources are the same in every call. A list
    // that equals the last one sends nothing. Any thread.
    virtual void set_lists(DeviceLists lists) = 0;
    // Has kubelet write its record (DeviceHolders) anew, which it does with every list that it
    // gets: sends one again. A list and a new pod at one instant are two writers in kubelet, and
    // the older state may stay in the file (devicemanager/manager.go, writeCheckpoint; seen
    // on 1.36). Does not wait for it. Any thread.
    virtual void refresh_record() = 0;
    // Serves, registers, registers again when kubelet restarts; `registered` is called after each.
    // Blocks until `stop`.
    virtual void run(DevicePluginHandler& handler, const std::function<void()>& registered,
                     std::stop_token stop) = 0;
};

// One container's devices of one resource.
struct DeviceHolder {
    PodUid pod;
    std::string container;
    std::string resource;
    std::set<std::string> ids;
    std::vector<std::string> cdi_devices;  // what Allocate handed over for it
    // Allocate was answered by gpushare's plugin, before the node was taken over.
    bool by_gpushare = false;

    friend bool operator==(const DeviceHolder&, const DeviceHolder&) = default;
};

class DeviceHolders {
  public:
    virtual ~DeviceHolders() = default;
    // Every container that kubelet gave devices to, init containers included; pods that ended may
    // still be among them. Nobody where kubelet has no record yet. Errors: unavailable or
    // unsupported, with the reason.
    virtual Result<std::vector<DeviceHolder>> list() = 0;
};

}  // namespace tessera
