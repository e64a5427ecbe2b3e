// NVIDIA's libraries of a driver root, for a program that runs in another root.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.hpp"

namespace tessera {

// Makes a folder of links to them, as LD_LIBRARY_PATH; what it has already stays. The root's own
// folders also have a C library, with which a program of this container would not start.
Result<> link_driver_libraries(const std::string& driver_root, const std::filesystem::path& into);

}  // namespace tessera
