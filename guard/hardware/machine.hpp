// The driver that this machine has, or that the user named.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace tessera::guard {

// Its libcuda.so.1; before anything else of this folder is used.
void set_driver(const std::filesystem::path& library);
const std::filesystem::path& driver_path();
// Beside it.
std::filesystem::path nvml_path();

// Of device 0, as NVML writes it.
std::string device_uuid();
// What is taken of device 0, with the context of a process that asks and is gone.
std::uint64_t taken_now();

}  // namespace tessera::guard
