// The driver that this machine has, or that the user named.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace tessera::guard {

// The driver's libcuda.so.1. Call this before anything else in this folder.
void set_driver(const std::filesystem::path& library);
const std::filesystem::path& driver_path();
// The NVML library beside it.
std::filesystem::path nvml_path();

// The UUID of device 0, as NVML writes it.
std::string device_uuid();
// The memory in use on device 0, including the context of a process that reads it and then ends.
std::uint64_t taken_now();

}  // namespace tessera::guard
