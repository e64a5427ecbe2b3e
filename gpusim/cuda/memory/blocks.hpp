// Memory of a card for a context: taken and given back in whole granules, and as much of the
// address space with it, played by anonymous pages that cost nothing until touched. Small pieces
// share a granule, as in the real driver. Every function wants a Session.
#pragma once

#include <cstddef>

#include "gpusim/cuda/driver/driver.hpp"

namespace gpusim {

inline constexpr std::size_t kGrainBytes =
    512;  // what small pieces are multiples of, and aligned to
inline constexpr std::size_t kSmallBytes = std::size_t{1} << 20;  // smaller ones share
inline constexpr int kGrainsPerChunk = static_cast<int>(kGranuleBytes / kGrainBytes);

enum class Reach { anywhere, low };  // low: below 4 GiB

// What is taken and given back as a whole. One of a single granule may be a chunk of small pieces.
struct Block {
    CUdeviceptr base;
    std::size_t bytes;  // whole granules
    Context* context;
    int entry;       // of CardsFile::shared, -1 while no other process may have it
    bool is_shared;  // its pages are the entry's
    Reach reach;
    int used_grains;  // of a chunk
    std::uint64_t grains[kGrainsPerChunk / 64];
    Block* next;  // in Context::chunks
};

struct Piece {
    Block* block;
    CUdeviceptr base;
    std::size_t extent;
};

// `bytes` of the context's card. CUDA_ERROR_OUT_OF_MEMORY when the card, or this process, has not
// that much left.
CUresult take_piece(Context& context, std::size_t bytes, Reach reach, Piece* piece);
void give_piece(const Piece& piece);

// Makes the block one that other processes may hold; it stays where it is. What another thread
// writes to it meanwhile may be lost. False when the node has no entry left.
bool share_block(Block& block);

// Maps an entry's content into this process, at `at` or where there is room for null. Null when it
// cannot.
void* map_shared(int entry, std::size_t bytes, void* at);

}  // namespace gpusim
