#include "gpusim/cuda/graphs/graph_memory.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "gpusim/cuda/driver/accounts.hpp"
#include "gpusim/cuda/pools/level.hpp"

namespace gpusim {
namespace {

// For a device: what the GPU has given for graphs, and what of it executables and live allocations
// use.
struct GraphPool {
    Level reserved;
    Level used;
};

constinit GraphPool pools[kMaxGpus] = {};  // by CUdevice
constinit Graph* execs = nullptr;          // with memory, until they are done

int gpu_of(CUdevice device) {
    return driver.devices.gpus[device];
}

bool is_allocation(const Node& node) {
    return node.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC;
}

bool is_free(const Node& node) {
    return node.type == CU_GRAPH_NODE_TYPE_MEM_FREE;
}

// Its own allocation, which outlives a launch.
bool outlives(const Node& node) {
    return is_allocation(node) && !node.memory->has_free_within;
}

// A free of memory that another graph allocates.
bool frees_beyond(const Node& node) {
    return is_free(node) && node.memory->has_free_beyond;
}

std::uint64_t most_at_once(const Graph& exec, CUdevice device) {
    std::uint64_t now = 0;
    std::uint64_t most = 0;
    for (const Node* node = exec.first; node != nullptr; node = node->next) {
        if (node->memory == nullptr || node->memory->device != device) continue;
        if (is_allocation(*node)) now += node->memory->extent;
        if (is_free(*node) && !node->memory->has_free_beyond) now -= node->memory->extent;
        if (now > most) most = now;
    }
    return most;
}

bool is_running(const Graph& exec) {
    return exec.last_launch != nullptr && !is_done(*exec.last_launch);
}

bool has_live(const Graph& exec) {
    for (const Node* node = exec.first; node != nullptr; node = node->next)
        if (node->memory != nullptr && outlives(*node) && node->memory->is_live) return true;
    return false;
}

void unback(Graph& exec, CUdevice device) {
    pools[device].used.now -= exec.backed[device];
    exec.backed[device] = 0;
}

// Looks for executables that were destroyed while they ran, and are done now.
void look_for_done() {
    for (Graph** link = &execs; *link != nullptr;) {
        Graph& exec = **link;
        if (exec.mark != 0 || is_running(exec)) {
            link = &exec.next_exec;
            continue;
        }
        for (CUdevice device = 0; device < driver.devices.count; device++)
            unback(exec, device);
        if (exec.last_launch != nullptr) release(exec.last_launch);
        exec.last_launch = nullptr;
        *link = exec.next_exec;
    }
}

void give_cached(CUdevice device) {
    GraphPool& pool = pools[device];
    discharge(gpu_of(device), pool.reserved.now - pool.used.now, 0);
    pool.reserved.now = pool.used.now;
}

void trim_graph_memory(CUdevice device) {
    look_for_done();
    for (Graph* exec = execs; exec != nullptr; exec = exec->next_exec)
        if (!is_running(*exec) && !has_live(*exec)) unback(*exec, device);
    give_cached(device);
}

CUresult back_on(Graph& exec, CUdevice device) {
    GraphPool& pool = pools[device];
    const std::uint64_t most = most_at_once(exec, device);
    if (most <= exec.backed[device]) return CUDA_SUCCESS;
    const std::uint64_t more = most - exec.backed[device];
    const std::uint64_t cached = pool.reserved.now - pool.used.now;
    if (more > cached) {
        const CUresult result = take(gpu_of(device), more - cached);
        if (result != CUDA_SUCCESS) return result;
        raise(pool.reserved, more - cached);
    }
    raise(pool.used, more);
    exec.backed[device] = most;
    return CUDA_SUCCESS;
}

void forget_free(GraphAllocation& allocation) {
    if (allocation.free != nullptr) release(allocation.free);
    allocation.free = nullptr;
}

// The memory was freed. It lives again only after another launch.
void end_life(GraphAllocation& allocation) {
    forget_free(allocation);
    allocation.is_live = false;
    if (allocation.is_on_its_own) pools[allocation.device].used.now -= allocation.extent;
    allocation.is_on_its_own = false;
    if (allocation.references > 0) return;
    remove_range(allocation);
    munmap(address(allocation.base), allocation.extent);
    std::free(&allocation);
}

void give_back(Range* range) {
    end_life(*static_cast<GraphAllocation*>(range));
}

const std::uint64_t* number_of(const GraphPool& pool, CUgraphMem_attribute attribute) {
    switch (attribute) {
        case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
            return &pool.used.now;
        case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
            return &pool.used.high;
        case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
            return &pool.reserved.now;
        case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
            return &pool.reserved.high;
    }
    return nullptr;
}

}  // namespace

CUresult make_graph_allocation(CUdevice device, std::size_t bytes, GraphAllocation** made) {
    if (bytes > capacity_bytes(driver.state.file->gpus[gpu_of(device)])) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    auto* allocation = static_cast<GraphAllocation*>(std::calloc(1, sizeof(GraphAllocation)));
    if (allocation == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    const std::size_t extent =
        (bytes + kAllocationUnitBytes - 1) / kAllocationUnitBytes * kAllocationUnitBytes;
    void* pages = mmap(nullptr, extent, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) {
        std::free(allocation);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    allocation->base = reinterpret_cast<CUdeviceptr>(pages);
    allocation->bytes = bytes;
    allocation->extent = extent;
    allocation->kind = RangeKind::graph;
    allocation->device = device;
    allocation->release = give_back;
    if (!add_range(*allocation, nullptr)) {
        munmap(pages, extent);
        std::free(allocation);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *made = allocation;
    return CUDA_SUCCESS;
}

void drop(GraphAllocation& allocation) {
    if (--allocation.references == 0 && !allocation.is_live) end_life(allocation);
}

GraphAllocation* find_graph_allocation(CUdeviceptr pointer) {
    return static_cast<GraphAllocation*>(find_range(pointer, RangeKind::graph));
}

bool is_graph_memory_live(const Range& range) {
    const auto& allocation = static_cast<const GraphAllocation&>(range);
    return allocation.is_live && allocation.free == nullptr;
}

bool has_memory(const Graph& graph) {
    for (const Node* node = graph.first; node != nullptr; node = node->next)
        if (node->memory != nullptr) return true;
    return false;
}

void enter(Graph& exec) {
    exec.next_exec = execs;
    execs = &exec;
}

CUresult back(Graph& exec) {
    move_on();
    look_for_done();
    for (CUdevice device = 0; device < driver.devices.count; device++) {
        CUresult result = back_on(exec, device);
        if (result == CUDA_ERROR_OUT_OF_MEMORY) {
            trim_graph_memory(device);
            result = back_on(exec, device);
        }
        if (result != CUDA_SUCCESS) return result;
    }
    return CUDA_SUCCESS;
}

CUresult check_launch(const Graph& exec) {
    for (const Node* node = exec.first; node != nullptr; node = node->next) {
        if (node->memory == nullptr) continue;
        const bool is_live = is_graph_memory_live(*node->memory);
        if (outlives(*node) && is_live && !exec.frees_itself) return CUDA_ERROR_INVALID_VALUE;
        if (frees_beyond(*node) && !is_live) return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult note_launch(Graph& exec, Stream& stream) {
    Operation* end = make_operation(Operation::Place::marker);
    if (end == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    if (exec.last_launch != nullptr) release(exec.last_launch);
    exec.last_launch = refer(end);
    exec.launched_in = stream.context;
    for (const Node* node = exec.first; node != nullptr; node = node->next) {
        if (node->memory == nullptr) continue;
        if (frees_beyond(*node)) end_life(*node->memory);
        if (!outlives(*node)) continue;
        forget_free(*node->memory);
        node->memory->is_live = true;
    }
    return enqueue(stream, end);
}

// Call this before its nodes are freed.
void leave(Graph& exec) {
    for (const Node* node = exec.first; node != nullptr; node = node->next) {
        if (node->memory == nullptr || !outlives(*node) || !node->memory->is_live) continue;
        node->memory->is_on_its_own = true;
        exec.backed[node->memory->device] -= node->memory->extent;
    }
}

void end_graph_memory(const Context& context) {
    for (Graph* exec = execs; exec != nullptr; exec = exec->next_exec) {
        if (exec->launched_in != &context) continue;
        for (const Node* node = exec->first; node != nullptr; node = node->next)
            if (node->memory != nullptr && node->memory->is_live) end_life(*node->memory);
    }
    trim_graph_memory(context.device);
}

}  // namespace gpusim

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
                                      void* value) {
    const gpusim::Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (!gpusim::is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    gpusim::move_on();
    gpusim::look_for_done();
    const std::uint64_t* number = gpusim::number_of(gpusim::pools[device], attribute);
    if (number == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(value, number, sizeof *number);
    return CUDA_SUCCESS;
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
                                      void* value) {
    const gpusim::Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (!gpusim::is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::uint64_t number = 0;
    std::memcpy(&number, value, sizeof number);
    gpusim::GraphPool& pool = gpusim::pools[device];
    if (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) return gpusim::set_high(pool.used, number);
    if (attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
        return gpusim::set_high(pool.reserved, number);
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGraphMemTrim(CUdevice device) {
    const gpusim::Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (!gpusim::is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    gpusim::move_on();
    gpusim::trim_graph_memory(device);
    return CUDA_SUCCESS;
}
