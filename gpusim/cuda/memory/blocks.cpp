#include "gpusim/cuda/memory/blocks.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "gpusim/cuda/driver/accounts.hpp"
#include "gpusim/cuda/memory/address_book.hpp"

namespace gpusim {
namespace {

constexpr std::size_t kPageBytes = 4096;

std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

bool map_pages(Block& block) {
    const int low = block.reach == Reach::low ? MAP_32BIT : 0;
    void* pages = mmap(nullptr, block.bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | low, -1, 0);
    if (pages == MAP_FAILED) return false;
    block.base = reinterpret_cast<CUdeviceptr>(pages);
    return true;
}

CUresult take_block(Context& context, std::size_t bytes, Reach reach, Block** taken) {
    auto* block = static_cast<Block*>(std::calloc(1, sizeof(Block)));
    if (block == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    block->bytes = rounded_up(bytes, kAllocationUnitBytes);
    block->context = &context;
    block->entry = -1;
    block->reach = reach;
    CUresult result = take(context.gpu, block->bytes);
    if (result == CUDA_SUCCESS && !map_pages(*block)) {
        discharge(context.gpu, block->bytes, 0);
        result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (result != CUDA_SUCCESS) {
        std::free(block);
        return result;
    }
    *taken = block;
    return CUDA_SUCCESS;
}

void give_block(Block* block) {
    munmap(address(block->base), block->bytes);
    if (block->entry >= 0) {
        drop_shared(block->entry);
    } else {
        discharge(block->context->gpu, block->bytes, 0);
    }
    std::free(block);
}

bool is_taken(const Block& chunk, int grain) {
    return (chunk.grains[grain / 64] >> (grain % 64) & 1) != 0;
}

void mark(Block& chunk, int first, int count) {
    for (int grain = first; grain < first + count; grain++) {
        chunk.grains[grain / 64] ^= std::uint64_t{1} << (grain % 64);
    }
}

// First fit; -1 if the chunk does not have `count` free grains in a row.
int find_grains(const Block& chunk, int count) {
    if (kGrainsPerChunk - chunk.used_grains < count) return -1;
    int run = 0;
    for (int grain = 0; grain < kGrainsPerChunk; grain++) {
        run = is_taken(chunk, grain) ? 0 : run + 1;
        if (run == count) return grain - count + 1;
    }
    return -1;
}

void take_grains(Block& chunk, int first, int count, Piece* piece) {
    mark(chunk, first, count);
    chunk.used_grains += count;
    const auto offset = static_cast<std::size_t>(first) * kGrainBytes;
    *piece = {&chunk, chunk.base + offset, static_cast<std::size_t>(count) * kGrainBytes};
}

void remove_chunk(Block* chunk) {
    Block** link = &chunk->context->chunks;
    while (*link != chunk)
        link = &(*link)->next;
    *link = chunk->next;
}

// Pages that were never written stay holes in the file.
bool copy_out(const Block& block, std::uint64_t offset) {
    static constexpr char kZeros[kPageBytes] = {};
    for (std::size_t at = 0; at < block.bytes; at += kPageBytes) {
        const void* page = address(block.base + at);
        if (std::memcmp(page, kZeros, kPageBytes) == 0) continue;
        const auto to = static_cast<off_t>(offset + at);
        if (pwrite(driver.state.memory_fd, page, kPageBytes, to) != kPageBytes) return false;
    }
    return true;
}

}  // namespace

CUresult take_piece(Context& context, std::size_t bytes, Reach reach, Piece* piece) {
    if (bytes > capacity_bytes(gpu_of(context))) return CUDA_ERROR_OUT_OF_MEMORY;
    Block* block = nullptr;
    if (bytes >= kSmallBytes) {
        const CUresult error = take_block(context, bytes, reach, &block);
        if (error == CUDA_SUCCESS) *piece = {block, block->base, block->bytes};
        return error;
    }
    const int count = static_cast<int>(rounded_up(bytes, kGrainBytes) / kGrainBytes);
    for (Block* chunk = context.chunks; chunk != nullptr; chunk = chunk->next) {
        const int first = chunk->reach == reach ? find_grains(*chunk, count) : -1;
        if (first >= 0) return take_grains(*chunk, first, count, piece), CUDA_SUCCESS;
    }
    if (const CUresult error = take_block(context, kAllocationUnitBytes, reach, &block);
        error != CUDA_SUCCESS) {
        return error;
    }
    block->next = context.chunks;
    context.chunks = block;
    take_grains(*block, 0, count, piece);
    return CUDA_SUCCESS;
}

void give_piece(const Piece& piece) {
    Block* block = piece.block;
    if (block->used_grains == 0) return give_block(block);
    const int count = static_cast<int>(piece.extent / kGrainBytes);
    mark(*block, static_cast<int>((piece.base - block->base) / kGrainBytes), count);
    block->used_grains -= count;
    if (block->used_grains > 0) return;
    remove_chunk(block);
    give_block(block);
}

void* map_shared(int entry, std::size_t bytes, void* at) {
    const auto offset = static_cast<off_t>(driver.state.file->shared[entry].offset.load());
    void* pages = mmap(at, bytes, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_NORESERVE | (at != nullptr ? MAP_FIXED : 0),
                       driver.state.memory_fd, offset);
    return pages != MAP_FAILED ? pages : nullptr;
}

bool share_block(Block& block) {
    if (block.is_shared) return true;
    if (block.entry < 0) block.entry = share(block.context->gpu, block.bytes);
    if (block.entry < 0) return false;
    const std::uint64_t offset = driver.state.file->shared[block.entry].offset.load();
    block.is_shared = copy_out(block, offset) &&
                      map_shared(block.entry, block.bytes, address(block.base)) != nullptr;
    return block.is_shared;
}

}  // namespace gpusim
