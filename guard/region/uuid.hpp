// The name of a card.
#pragma once

#include <cstdint>

namespace tessera::guard {

// From NVML's text to CUuuid's bytes. False where the text is none of a card:
// GPU-01234567-89ab-cdef- 0123-456789abcdef.
bool read_uuid(const char* text, std::uint8_t (&uuid)[16]);

}  // namespace tessera::guard
