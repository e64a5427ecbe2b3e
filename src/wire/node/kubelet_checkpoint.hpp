// The checkpoint of kubelet's device manager: the devices that each container was given by each
// device plugin. It is the file kubelet_internal_checkpoint in /var/lib/kubelet/device-plugins;
// kubelet writes it before any container of the pod starts. Unlike the PodResources API, it has the
// pod's uid, the init containers, and the device plugin's answer to Allocate.
//
//   {"Data":{"PodDeviceEntries":[{"PodUID":…,"ContainerName":…,"ResourceName":…,
//     "DeviceIDs":{"<numa>":[id…]},"AllocResp":<base64 of a
//     v1beta1.ContainerAllocateResponse>}]},…}
//
// Other members, such as the checksum, are ignored. Source: kubernetes
// pkg/kubelet/cm/devicemanager/checkpoint (the same since 1.20; read on 1.36).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"

namespace tessera {

// The devices of one resource of one container.
struct CheckpointEntry {
    PodUid pod;
    std::string container;
    std::string resource;
    std::set<std::string> ids;      // of all NUMA nodes
    std::string allocate_response;  // base64

    friend bool operator==(const CheckpointEntry&, const CheckpointEntry&) = default;
};

// Empty if kubelet has given no devices yet. invalid_argument if the text is no JSON. unsupported
// if it is JSON of another form: a newer kubelet may have changed it, and a guess could give a
// container the share of another.
Result<std::vector<CheckpointEntry>> read_kubelet_checkpoint(std::string_view text);

}  // namespace tessera
