// Where the parts of NVIDIA's driver are under a driver root.
#pragma once

#include <array>
#include <string>

namespace tessera {

// The folders in which distributions install the driver's libraries.
inline constexpr std::array kDriverLibraryFolders = {
    "usr/lib/x86_64-linux-gnu",  "usr/lib64", "usr/lib",
    "usr/lib/aarch64-linux-gnu", "lib64",     "lib/x86_64-linux-gnu",
};

inline std::string in_driver_root(const std::string& driver_root, const char* folder) {
    return driver_root + (driver_root.ends_with('/') ? "" : "/") + folder;
}

}  // namespace tessera
