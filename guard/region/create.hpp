// The agent makes the two files of a container's region.
#pragma once

#include "guard/region/layout.hpp"

namespace tessera::guard {

struct CardShare {
    const char* uuid;             // as NVML gives it: GPU-01234567-89ab-cdef-0123-456789abcdef
    std::uint64_t memory_bytes;   // a part of a granule is none
    std::uint64_t context_bytes;  // what a context takes by itself; a part of a granule is a whole
    Millionths cores = 0;         // of the card's time that the container is sure of
    Millionths ceiling = kWhole;  // and the most it gets
};

// Makes both files in a directory that is there, each whole or not at all. Accounts that are there
// stay, if they are of this layout; limits are written anew, for a container that is about to
// start. Any process of the container may write `accounts`, and none `limits`. 0 or an errno;
// EINVAL where a uuid is none, or there are too many cards.
int create_region(const char* directory, const CardShare* cards, int card_count);

}  // namespace tessera::guard
