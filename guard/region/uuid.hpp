// The UUID of a GPU.
#pragma once

#include <cstdint>

namespace tessera::guard {

// From NVML's text (GPU-01234567-89ab-cdef-0123-456789abcdef) to CUuuid's bytes. False if the text
// is not the UUID of a GPU.
bool read_uuid(const char* text, std::uint8_t (&uuid)[16]);

// The reverse. The text of every GPU has this length.
inline constexpr int kUuidText = 40;
void write_uuid(const std::uint8_t (&uuid)[16], char (&text)[kUuidText + 1]);

}  // namespace tessera::guard
