// The DevicePluginHost port: one gRPC server per resource in kubelet's device-plugin folder
// (v1beta1, api/kubelet/deviceplugin.proto).
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/string_map.hpp"
#include "ports/kubelet.hpp"

namespace tessera {

struct DevicePluginOptions {
    std::string folder = "/var/lib/kubelet/device-plugins";
    // The names of plugin sockets by resource. By default tessera.dev/gpu has
    // tessera.dev-gpu.sock.
    StringMap sockets = {};
    // How often the folder is checked for a new kubelet socket and for missing sockets of ours.
    std::chrono::milliseconds watch_period{1000};
};

std::unique_ptr<DevicePluginHost> make_device_plugin_host(DevicePluginOptions options);

}  // namespace tessera
