// A volume that jobs can mount: a PersistentVolumeClaim.
#pragma once

#include <cstdint>
#include <string>

namespace tessera::workload {

struct DataVolume {
    std::string ns;
    std::string name;
    std::string access_modes;  // "ReadWriteMany", or several with commas
    std::string description;   // annotation `description`; may be empty
    std::string owner;         // annotation `owner`; may be empty
    std::int64_t created_s = 0;
    bool is_bound = false;  // only these can be mounted

    friend bool operator==(const DataVolume&, const DataVolume&) = default;
};

}  // namespace tessera::workload
