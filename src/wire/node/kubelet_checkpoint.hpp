// Kubelet's record of which container it gave which devices: /var/lib/kubelet/device-plugins/
// kubelet_internal_checkpoint, written before any container of the pod starts. Unlike the
// PodResources API it has the pod's uid, the init containers, and our own answer to Allocate.
//
//   {"Data":{"PodDeviceEntries":[{"PodUID":…,"ContainerName":…,"ResourceName":…,
//     "DeviceIDs":{"<numa>":[id…]},"AllocResp":<base64 of a
//     v1beta1.ContainerAllocateResponse>}]},…}
//
// Source: kubernetes pkg/kubelet/cm/devicemanager/checkpoint (the same since 1.20; read on 1.36).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"

namespace tessera {

struct CheckpointEntry {
    PodUid pod;
    std::string container;
    std::string resource;
    std::set<std::string> ids;
    std::string allocate_response;  // base64

    friend bool operator==(const CheckpointEntry&, const CheckpointEntry&) = default;
};

// unsupported if the text is JSON of another form: a newer kubelet may have changed it, and
// guessing would give a container the wrong share.
Result<std::vector<CheckpointEntry>> read_kubelet_checkpoint(std::string_view text);

}  // namespace tessera
