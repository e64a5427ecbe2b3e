#include "wire/kube/container_setup_json.hpp"

#include <array>
#include <map>
#include <string>
#include <string_view>

namespace tessera {
namespace {

constexpr std::array<std::string_view, 5> kNeverWritten = {"configMap", "secret", "downwardAPI",
                                                           "projected", "image"};
// Volume sources that may have readOnly, for each mount of the volume (core/v1 VolumeSource).
constexpr std::array<std::string_view, 17> kMayBeReadOnly = {"awsElasticBlockStore",
                                                             "azureDisk",
                                                             "azureFile",
                                                             "cephfs",
                                                             "cinder",
                                                             "csi",
                                                             "fc",
                                                             "flexVolume",
                                                             "gcePersistentDisk",
                                                             "glusterfs",
                                                             "iscsi",
                                                             "nfs",
                                                             "persistentVolumeClaim",
                                                             "portworxVolume",
                                                             "rbd",
                                                             "scaleIO",
                                                             "storageos"};

struct Volume {
    std::string host_path;
    bool read_only = false;
};

std::map<std::string, Volume, std::less<>> read_volumes(JsonValue spec) {
    std::map<std::string, Volume, std::less<>> out;
    for (const JsonValue json : spec["volumes"].elements()) {
        Volume volume{.host_path = json["hostPath"]["path"].text_or("")};
        for (const std::string_view kind : kNeverWritten)
            volume.read_only |= json[kind].present();
        for (const std::string_view kind : kMayBeReadOnly)
            volume.read_only |= json[kind]["readOnly"].boolean().value_or(false);
        out.insert_or_assign(json["name"].text_or(""), std::move(volume));
    }
    return out;
}

ContainerMount read_mount(JsonValue json,
                          const std::map<std::string, Volume, std::less<>>& volumes) {
    ContainerMount out{.destination = json["mountPath"].text_or(""),
                       .source = {},
                       .read_only = json["readOnly"].boolean().value_or(false),
                       .volume = json["name"].text_or("")};
    const auto volume = volumes.find(out.volume);
    if (volume == volumes.end()) return out;
    out.read_only |= volume->second.read_only;
    out.source = volume->second.host_path;
    const std::string below = json["subPath"].text_or("");
    if (!out.source.empty() && !below.empty()) out.source += "/" + below;
    // Kubelet expands the variable parts of the path, so the path is unknown here.
    if (json["subPathExpr"].present()) out.source.clear();
    return out;
}

}  // namespace

std::vector<ContainerSetup> read_container_setups(JsonValue pod) {
    const JsonValue spec = pod["spec"];
    const auto volumes = read_volumes(spec);
    std::vector<ContainerSetup> out;
    for (const std::string_view list : {"initContainers", "containers"}) {
        for (const JsonValue container : spec[list].elements()) {
            ContainerSetup setup{
                .name = container["name"].text_or(""),
                .runtime_handler = spec["runtimeClassName"].text_or(""),
                .is_privileged =
                    container["securityContext"]["privileged"].boolean().value_or(false),
                .mounts = {}};
            for (const JsonValue mount : container["volumeMounts"].elements())
                setup.mounts.push_back(read_mount(mount, volumes));
            for (const JsonValue device : container["volumeDevices"].elements())
                setup.devices.emplace_back(device["devicePath"].text_or(""));
            std::string message = container[kTerminationMessage].text_or("");
            if (!message.empty()) {
                setup.mounts.push_back({.destination = std::move(message),
                                        .source = {},
                                        .volume = std::string(kTerminationMessage)});
            }
            out.push_back(std::move(setup));
        }
    }
    return out;
}

}  // namespace tessera
