// A process that allocates and frees memory of every family at random, for tests.
#pragma once

#include <unistd.h>

#include <random>
#include <string>
#include <vector>

#include "gpusim/test_support/cuda_program.hpp"
#include "gpusim/test_support/descriptor_pipe.hpp"

namespace tessera::guard {

// IPC handles that processes of a container pass to each other, in shared memory. A handle may be
// read half written, because a program may also be given such handles.
inline constexpr std::size_t kPlaces = 64;
struct Board {
    CUipcMemHandle handles[kPlaces];
};

// How processes of a container give each other memory. null: they do not.
struct Exchange {
    Board* board = nullptr;
    gpusim::DescriptorPipe* pipe = nullptr;
};

// These are small, because some are on their way at any time.
inline constexpr std::uint64_t kPassedBytes = 16 * gpusim::kMiB;

// A process that holds memory of every family.
class Holder {
  public:
    Holder(const std::filesystem::path& library, unsigned seed, const Exchange& exchange = {})
        : cuda_(library), random_(seed), exchange_(exchange) {
        EXPECT_EQ(CALL(cuda_, cuInit)(0), CUDA_SUCCESS);
        const CUresult result = CALL(cuda_, cuCtxCreate_v2)(&context_, 0, 0);
        EXPECT_TRUE(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY) << result;
        if (!has_room()) return;
        std::uint64_t keep = ~std::uint64_t{0};
        EXPECT_EQ(CALL(cuda_, cuDeviceGetDefaultMemPool)(&pool_, 0), CUDA_SUCCESS);
        if (seed % 2 == 0) {
            CALL(cuda_, cuMemPoolSetAttribute)
            (pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep);
        }
    }

    // Whether there was room for its context.
    bool has_room() const { return context_ != nullptr; }

    void step() {
        const auto what = random_() % 10;
        if (what < 5 && held_.size() < 12) return take();
        if (what == 9) {
            EXPECT_EQ(CALL(cuda_, cuStreamSynchronize)(nullptr), CUDA_SUCCESS);
        } else if (!held_.empty()) {
            give();
        }
    }
    void give_all() {
        while (!held_.empty())
            give();
        EXPECT_EQ(CALL(cuda_, cuCtxSynchronize)(), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda_, cuMemPoolTrimTo)(pool_, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda_, cuDeviceGraphMemTrim)(0), CUDA_SUCCESS);
    }
    unsigned long taken() const { return taken_; }

  private:
    enum class Family {
        plain,
        rows,
        managed,
        ordered,
        physical,
        array,
        module,
        graph,
        opened,
        passed,
        imported,
        kCount
    };
    struct Held {
        Family family;
        std::uint64_t handle;
    };

    void take() {
        const auto family = static_cast<Family>(random_() % static_cast<unsigned>(Family::kCount));
        std::uint64_t handle = 0;
        const CUresult result = take(family, (random_() % 64 + 1) * 2 * gpusim::kMiB, handle);
        const bool may_be_gone = family == Family::opened || family == Family::imported;
        EXPECT_TRUE(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY || may_be_gone)
            << result;
        if (result != CUDA_SUCCESS) return;
        held_.push_back({family, handle});
        taken_++;
        if (family == Family::plain && random_() % 2 == 0) post(handle);
        if (family == Family::passed || (family == Family::imported && random_() % 2 == 0))
            pass(handle);
    }

    void post(CUdeviceptr pointer) {
        if (exchange_.board == nullptr) return;
        CUipcMemHandle exported = {};
        EXPECT_EQ(CALL(cuda_, cuIpcGetMemHandle)(&exported, pointer), CUDA_SUCCESS);
        exchange_.board->handles[random_() % kPlaces] = exported;
    }

    // Passes it on to any process that receives it, including memory that was imported.
    void pass(CUmemGenericAllocationHandle handle) {
        if (exchange_.pipe == nullptr) return;
        int fd = -1;
        const CUresult result = CALL(cuda_, cuMemExportToShareableHandle)(
            &fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
        EXPECT_TRUE(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY) << result;
        if (result != CUDA_SUCCESS) return;
        exchange_.pipe->try_send(fd);
        close(fd);
    }

    CUresult import_some(CUmemGenericAllocationHandle* handle) {
        const int fd = exchange_.pipe != nullptr ? exchange_.pipe->try_receive() : -1;
        if (fd < 0) return CUDA_ERROR_INVALID_HANDLE;
        const CUresult result = CALL(cuda_, cuMemImportFromShareableHandle)(
            handle, gpusim::as_pointer(static_cast<CUdeviceptr>(fd)),
            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        close(fd);
        EXPECT_TRUE(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY) << result;
        return result;
    }

    CUresult create(CUmemGenericAllocationHandle* handle, std::uint64_t bytes,
                    CUmemAllocationHandleType type) {
        CUmemAllocationProp properties = {};
        properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.requestedHandleTypes = type;
        properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
        return CALL(cuda_, cuMemCreate)(handle, bytes, &properties, 0);
    }

    // The graph allocates and frees the memory itself, once launched.
    CUresult make_graph(std::uint64_t bytes, std::uint64_t& handle) {
        CUgraph graph = nullptr;
        CUgraphNode first = nullptr;
        CUgraphNode second = nullptr;
        CUDA_MEM_ALLOC_NODE_PARAMS_v1 wanted = {};
        wanted.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        wanted.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
        wanted.bytesize = bytes;
        CUgraphExec exec = nullptr;
        EXPECT_EQ(CALL(cuda_, cuGraphCreate)(&graph, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda_, cuGraphAddMemAllocNode)(&first, graph, nullptr, 0, &wanted),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda_, cuGraphAddMemFreeNode)(&second, graph, &first, 1, wanted.dptr),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda_, cuGraphInstantiateWithFlags)(&exec, graph, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda_, cuGraphDestroy)(graph), CUDA_SUCCESS);
        const CUresult result = CALL(cuda_, cuGraphLaunch)(exec, nullptr);
        if (result != CUDA_SUCCESS) {
            EXPECT_EQ(CALL(cuda_, cuGraphExecDestroy)(exec), CUDA_SUCCESS);
        }
        handle = reinterpret_cast<std::uint64_t>(exec);
        return result;
    }

    CUresult open_some(CUdeviceptr* pointer) {
        if (exchange_.board == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        const CUipcMemHandle handle = exchange_.board->handles[random_() % kPlaces];
        return CALL(cuda_, cuIpcOpenMemHandle_v2)(pointer, handle,
                                                  CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    }

    CUresult take(Family family, std::uint64_t bytes, std::uint64_t& handle) {
        auto* const pointer = reinterpret_cast<CUdeviceptr*>(&handle);
        auto* const physical = reinterpret_cast<CUmemGenericAllocationHandle*>(&handle);
        switch (family) {
            case Family::plain:
                return CALL(cuda_, cuMemAlloc_v2)(pointer, bytes);
            case Family::rows: {
                size_t pitch = 0;
                return CALL(cuda_, cuMemAllocPitch_v2)(pointer, &pitch, 1000, bytes / 1024, 4);
            }
            case Family::managed:
                return CALL(cuda_, cuMemAllocManaged)(pointer, bytes, CU_MEM_ATTACH_GLOBAL);
            case Family::ordered:
                return CALL(cuda_, cuMemAllocAsync)(pointer, bytes, nullptr);
            case Family::physical:
                return create(physical, bytes, CU_MEM_HANDLE_TYPE_NONE);
            case Family::passed:
                return create(physical, kPassedBytes, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
            case Family::imported:
                return import_some(physical);
            case Family::array: {
                const CUDA_ARRAY_DESCRIPTOR wanted = {1024, bytes / 4096, CU_AD_FORMAT_FLOAT, 1};
                return CALL(cuda_, cuArrayCreate_v2)(reinterpret_cast<CUarray*>(&handle), &wanted);
            }
            case Family::module: {
                const std::string text =
                    ".version 6.0\n.global .align 8 .b8 table[" + std::to_string(bytes) + "];\n";
                return CALL(cuda_, cuModuleLoadData)(reinterpret_cast<CUmodule*>(&handle),
                                                     text.c_str());
            }
            case Family::graph:
                return make_graph(bytes, handle);
            case Family::opened:
                return open_some(pointer);
            case Family::kCount:
                break;
        }
        return CUDA_ERROR_UNKNOWN;
    }

    void give() {
        std::swap(held_[random_() % held_.size()], held_.back());
        const auto [family, handle] = held_.back();
        held_.pop_back();
        EXPECT_EQ(give(family, handle), CUDA_SUCCESS);
    }

    // Frees memory of cuMemAlloc and of pools by either of the two calls.
    CUresult give(Family family, std::uint64_t handle) {
        void* const object = reinterpret_cast<void*>(handle);  // NOLINT(performance-no-int-to-ptr)
        const bool is_ordered = random_() % 3 == 0;
        switch (family) {
            case Family::plain:
            case Family::rows:
            case Family::ordered:
                return is_ordered ? CALL(cuda_, cuMemFreeAsync)(handle, nullptr)
                                  : CALL(cuda_, cuMemFree_v2)(handle);
            case Family::managed:
                return CALL(cuda_, cuMemFree_v2)(handle);
            case Family::physical:
            case Family::passed:
            case Family::imported:
                return CALL(cuda_, cuMemRelease)(handle);
            case Family::array:
                return CALL(cuda_, cuArrayDestroy)(static_cast<CUarray>(object));
            case Family::module:
                return CALL(cuda_, cuModuleUnload)(static_cast<CUmodule>(object));
            case Family::graph:
                return CALL(cuda_, cuGraphExecDestroy)(static_cast<CUgraphExec>(object));
            case Family::opened:
                return CALL(cuda_, cuIpcCloseMemHandle)(handle);
            case Family::kCount:
                break;
        }
        return CUDA_ERROR_UNKNOWN;
    }

    gpusim::Library cuda_;
    CUcontext context_ = nullptr;
    std::mt19937 random_;
    Exchange exchange_;
    CUmemoryPool pool_ = nullptr;
    std::vector<Held> held_;
    unsigned long taken_ = 0;
};

}  // namespace tessera::guard
