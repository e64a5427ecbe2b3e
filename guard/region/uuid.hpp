// The name of a card.
#pragma once

#include <cstdint>

namespace tessera::guard {

// From NVML's text to CUuuid's bytes. False where the text is none of a card:
// GPU-01234567-89ab-cdef- 0123-456789abcdef.
bool read_uuid(const char* text, std::uint8_t (&uuid)[16]);

// And back; as long as the text of any card.
inline constexpr int kUuidText = 40;
void write_uuid(const std::uint8_t (&uuid)[16], char (&text)[kUuidText + 1]);

}  // namespace tessera::guard
