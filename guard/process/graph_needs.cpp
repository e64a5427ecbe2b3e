#include "guard/process/graph_needs.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "guard/inject/driver.hpp"
#include "guard/process/location.hpp"
#include "guard/process/process.hpp"

namespace tessera::guard {
namespace {

// A run of addresses of a graph's memory, in allocation units.
struct AddressRun {
    std::uint64_t first;
    std::uint64_t end;
    int gpu;
};

// An array for short use, allocated directly from the kernel.
template <typename Item>
class Pages {
  public:
    // NOLINTNEXTLINE(bugprone-sizeof-expression): items may be handles, which are pointers
    explicit Pages(std::size_t count) : bytes_((count + 1) * sizeof(Item)) {
        void* pages =
            mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages != MAP_FAILED) items_ = static_cast<Item*>(pages);
    }
    ~Pages() {
        if (items_ != nullptr) munmap(static_cast<void*>(items_), bytes_);
    }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;

    Item* get() { return items_; }

  private:
    std::size_t bytes_;
    Item* items_ = nullptr;
};

// Calls `visit` for each node that allocates, including nodes of child graphs.
template <typename Visit>
CUresult for_each_allocation(CUgraph graph, const Visit& visit) {
    const Driver& real = *driver();
    std::size_t count = 0;
    CUresult result = real.cuGraphGetNodes(graph, nullptr, &count);
    if (result != CUDA_SUCCESS || count == 0) return result;
    Pages<CUgraphNode> nodes(count);
    if (nodes.get() == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    result = real.cuGraphGetNodes(graph, nodes.get(), &count);
    for (std::size_t i = 0; result == CUDA_SUCCESS && i < count; i++) {
        CUgraphNode node = nodes.get()[i];
        CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
        result = real.cuGraphNodeGetType(node, &type);
        if (result != CUDA_SUCCESS) break;
        if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
            result = visit(node);
        } else if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
            CUgraph child = nullptr;
            result = real.cuGraphChildGraphNodeGetGraph(node, &child);
            if (result == CUDA_SUCCESS) result = for_each_allocation(child, visit);
        }
    }
    return result;
}

CUresult find_span(CUgraphNode node, AddressRun& span) {
    CUDA_MEM_ALLOC_NODE_PARAMS_v1 made = {};
    const CUresult result = driver()->cuGraphMemAllocNodeGetParams(node, &made);
    if (result != CUDA_SUCCESS) return result;
    span.gpu = gpu_of_pool_at(made.poolProps.location, made.poolProps.allocType);
    if (span.gpu == -1) return kNotGuarded;
    span.first = made.dptr / kAllocationUnitBytes;
    span.end = (made.dptr + made.bytesize + kAllocationUnitBytes - 1) / kAllocationUnitBytes;
    return CUDA_SUCCESS;
}

// Adds up what the spans cover, each address once. Host memory takes nothing.
void add_up(AddressRun* spans, std::size_t count, GraphNeeds& needs) {
    std::sort(spans, spans + count, [](const AddressRun& one, const AddressRun& other) {
        return one.first < other.first;
    });
    std::uint64_t filled_to = 0;
    for (std::size_t i = 0; i < count; i++) {
        const std::uint64_t first = spans[i].first > filled_to ? spans[i].first : filled_to;
        if (spans[i].end <= first) continue;
        filled_to = spans[i].end;
        if (spans[i].gpu < 0) continue;
        AllocationUnits& of = needs.of[spans[i].gpu];
        const std::uint64_t sum = of + (spans[i].end - first);
        of = sum < kMaxAllocationUnits ? static_cast<AllocationUnits>(sum) : kMaxAllocationUnits;
    }
}

bool can_ask() {
    const Driver& real = *driver();
    return real.cuGraphGetNodes && real.cuGraphNodeGetType && real.cuGraphMemAllocNodeGetParams &&
           real.cuGraphChildGraphNodeGetGraph;
}

}  // namespace

CUresult find_needs(CUgraph graph, GraphNeeds& needs) {
    needs = {};
    if (!can_ask()) return CUDA_SUCCESS;  // a driver before CUDA 11.4: its graphs do not allocate
    std::size_t count = 0;
    CUresult result = for_each_allocation(graph, [&count](CUgraphNode) {
        count++;
        return CUDA_SUCCESS;
    });
    if (result != CUDA_SUCCESS || count == 0) return result;
    Pages<AddressRun> spans(count);
    if (spans.get() == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    std::size_t found = 0;
    result = for_each_allocation(graph, [&](CUgraphNode node) {
        return found < count ? find_span(node, spans.get()[found++]) : CUDA_ERROR_INVALID_VALUE;
    });
    if (result == CUDA_SUCCESS) add_up(spans.get(), found, needs);
    return result;
}

bool is_any(const GraphNeeds& needs) {
    for (const AllocationUnits units : needs.of)
        if (units != 0) return true;
    return false;
}

}  // namespace tessera::guard
