// What kubelet's record says of one container. A container can have devices of several resources
// (tencent.com/vcuda-core and vcuda-memory): each is an entry of the record, with its own answer of
// Allocate.
#pragma once

#include <string_view>
#include <vector>

#include "domain/dialect/dialect.hpp"
#include "ports/kubelet.hpp"

namespace tessera {

// Kind of the CDI devices that give a container its share, with identity kubelet.
inline constexpr std::string_view kShareKind = "tessera.dev/share=";

struct ContainerDevices {
    bool any = false;               // it has devices of a dialect
    bool by_former_plugin = false;  // a former system's plugin gave it some of them
    bool names_share = false;       // Allocate named a device of kShareKind
};

ContainerDevices devices_of(const std::vector<DeviceHolder>& record, const PodUid& pod,
                            std::string_view container, const Dialects& dialects);

// Whether the devices of the resource give a container its share. Memory that kubelet counts as a
// sum does not if its dialect has another device list: each container with a share has devices of
// that one, too, and gets the share once.
bool gives_share(std::string_view resource, const Dialects& dialects);

}  // namespace tessera
