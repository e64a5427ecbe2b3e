// Memory of a GPU for a context. It is taken and released in whole allocation units, together with
// as much of the address space, for which anonymous pages are used that cost nothing until touched.
// Small pieces share an allocation unit, as in the real driver. Every function requires a Session.
#pragma once

#include <cstddef>

#include "gpusim/cuda/driver/driver.hpp"

namespace gpusim {

inline constexpr std::size_t kGrainBytes = 512;  // the size unit and the alignment of small pieces
inline constexpr std::size_t kSmallBytes = std::size_t{1} << 20;  // smaller pieces share
inline constexpr int kGrainsPerChunk = static_cast<int>(kAllocationUnitBytes / kGrainBytes);

enum class Reach { anywhere, low };  // low: below 4 GiB

// Memory that is taken and released as a whole. A block of one allocation unit may be a chunk of
// small pieces.
struct Block {
    CUdeviceptr base;
    std::size_t bytes;  // whole allocation units
    Context* context;
    int entry;       // in GpusFile::shared; -1 while no other process may have it
    bool is_shared;  // its pages belong to the entry
    Reach reach;
    int used_grains;  // for a chunk
    std::uint64_t grains[kGrainsPerChunk / 64];
    Block* next;  // in Context::chunks
};

struct Piece {
    Block* block;
    CUdeviceptr base;
    std::size_t extent;
};

// Takes `bytes` of the context's GPU. CUDA_ERROR_OUT_OF_MEMORY if the GPU, or this process, does
// not have that much left.
CUresult take_piece(Context& context, std::size_t bytes, Reach reach, Piece* piece);
void give_piece(const Piece& piece);

// Makes the block one that other processes may hold; its address stays. What another thread writes
// to it meanwhile may be lost. False if the node has no entry left.
bool share_block(Block& block);

// Maps an entry's content into this process, at `at` or, if that is null, anywhere. Null if it
// cannot.
void* map_shared(int entry, std::size_t bytes, void* at);

}  // namespace gpusim
