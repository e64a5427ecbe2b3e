#include "app/agent/start/container_devices.hpp"

#include <algorithm>

namespace tessera {

ContainerDevices devices_of(const std::vector<DeviceHolder>& record, const PodUid& pod,
                            std::string_view container, const Dialects& dialects) {
    ContainerDevices out;
    for (const DeviceHolder& entry : record) {
        if (entry.pod != pod || entry.container != container) continue;
        if (dialects.of_resource(entry.resource) == nullptr) continue;
        out.any = true;
        out.by_former_plugin |= entry.by_former_plugin;
        out.names_share |= std::ranges::any_of(entry.cdi_devices, [](const std::string& device) {
            return device.starts_with(kShareKind);
        });
    }
    return out;
}

bool gives_share(std::string_view resource, const Dialects& dialects) {
    const Dialect* dialect = dialects.of_resource(resource);
    if (dialect == nullptr || dialect->counted_memory == nullptr) return true;
    return dialect->counted_memory->resource != resource || dialect->device_lists.size() == 1;
}

}  // namespace tessera
