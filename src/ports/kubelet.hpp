// Kubelet: the device plugins that it calls, and its record of which container has which device.
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
        // The same after a restart, because kubelet's checkpoint contains it. At most 63
        // characters.
        id;
    bool healthy = true;

    friend bool operator==(const PluginDevice&, const PluginDevice&) = default;
};

// The complete device list of every resource.
using DeviceLists = std::map<std::string, std::vector<PluginDevice>>;

// Answers kubelet. Many threads call it.
class DevicePluginHandler {
  public:
    virtual ~DevicePluginHandler() = default;

    // Returns the names of the CDI devices that kubelet passes to the runtime; may be empty.
    virtual Result<std::vector<std::string>> allocate(const std::string& resource,
                                                      const std::vector<std::string>& ids) = 0;
    // An error prevents the container's start; kubelet shows the text and tries again.
    virtual Result<> pre_start(const std::string& resource,
                               const std::vector<std::string>& ids) = 0;
};

class DevicePluginHost {
  public:
    virtual ~DevicePluginHost() = default;

    // Nothing is registered before the first call. Every call has the same resources. A list that
    // equals the last one is not sent. Any thread.
    virtual void set_lists(DeviceLists lists) = 0;
    // Makes kubelet write its record (DeviceHolders) again, by sending a list again: kubelet writes
    // it with every list. If a list and a new pod arrive at the same moment, kubelet has two
    // writers, and the older state may stay in the file (devicemanager/manager.go, writeCheckpoint;
    // seen on 1.36). Does not wait for the write. Any thread.
    virtual void refresh_record() = 0;
    // Serves and registers; registers again when kubelet restarts. Calls `registered` after each
    // registration. Blocks until `stop`.
    virtual void run(DevicePluginHandler& handler, const std::function<void()>& registered,
                     std::stop_token stop) = 0;
};

// The devices of one resource that one container has.
struct DeviceHolder {
    PodUid pod;
    std::string container;
    std::string resource;
    std::set<std::string> ids;
    std::vector<std::string> cdi_devices;  // what Allocate returned for it
    // A former system's plugin answered Allocate, before Tessera took over the node.
    bool by_former_plugin = false;

    friend bool operator==(const DeviceHolder&, const DeviceHolder&) = default;
};

class DeviceHolders {
  public:
    virtual ~DeviceHolders() = default;
    // Every container that kubelet gave devices to, init containers included; pods that ended may
    // still be among them. Empty if kubelet has no record yet. Errors: unavailable or unsupported,
    // with the reason.
    virtual Result<std::vector<DeviceHolder>> list() = 0;
};

}  // namespace tessera
