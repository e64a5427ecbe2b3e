// The DevicePluginHost port: one gRPC server per resource in kubelet's device-plugin folder
// (v1beta1, api/kubelet/deviceplugin.proto).
#pragma once

#include <memory>
#include <string>

#include "ports/kubelet.hpp"

namespace tessera {

struct DevicePluginOptions {
    std::string folder = "/var/lib/kubelet/device-plugins";
};

std::unique_ptr<DevicePluginHost> make_device_plugin_host(DevicePluginOptions options);

}  // namespace tessera
