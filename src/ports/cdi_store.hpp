// The Container Device Interface files of this node.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "ports/container_runtime.hpp"

namespace tessera {

// A device of the GPU vendor's specification.
struct CdiDevice {
    std::string name;                       // qualified: vendor/class=name
    std::vector<std::string> device_nodes;  // paths of device nodes that it adds to a container
    std::vector<std::string> mounts;        // paths that it mounts

    friend bool operator==(const CdiDevice&, const CdiDevice&) = default;
};

class CdiStore {
  public:
    virtual ~CdiStore() = default;

    // The vendor's device for this GPU. Its name is the UUID, or a number and then the device must
    // contain /dev/nvidia<minor> and no other GPU. The number alone proves nothing, because the
    // driver renumbers GPUs when one is gone. not_found, with the kind and the folders that were
    // searched, if no specification has the GPU.
    virtual Result<CdiDevice> vendor_device(const GpuUuid& uuid, int minor) = 0;
    // Writes the device tessera.dev/share=`name` with these edits, those of the vendor's devices
    // included. The write is atomic: it replaces an older device completely or not at all.
    virtual Result<> write_share(const std::string& name, const ContainerEdits& edits) = 0;
    // Removes the shares whose names are not in `names`.
    virtual void keep_only_shares(const std::set<std::string>& names) = 0;
};

}  // namespace tessera
