// Goal: each call that gives the GPU work is in flight as the kind of work that it is, until it is
// waited for. Method: makes each call and compares the process's accounts before and after it.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "gpusim/test_support/worker.hpp"
#include "guard/compute/streams.hpp"
#include "guard/test_support/guarded_container.hpp"

namespace tessera::guard {
namespace {

using gpusim::kGiB;
using gpusim::Library;
using gpusim::SimulatedNode;
using gpusim::Worker;

constexpr Millionths kPercent = kWhole / 100;
constexpr std::size_t kWidth = 65536;
constexpr std::size_t kHeight = 64;
constexpr std::size_t kBytes = kWidth * kHeight;

// The memory and arrays that copies go to and come from.
struct Places {
    explicit Places(const Worker& of) : worker(of), host(kBytes) {
        const CUDA_ARRAY_DESCRIPTOR wanted = {kWidth, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1};
        EXPECT_EQ(CALL(of.cuda, cuMemAlloc_v2)(&one, kBytes), CUDA_SUCCESS);
        EXPECT_EQ(CALL(of.cuda, cuMemAlloc_v2)(&other, kBytes), CUDA_SUCCESS);
        EXPECT_EQ(CALL(of.cuda, cuMemAllocManaged)(&managed, kBytes, CU_MEM_ATTACH_GLOBAL),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(of.cuda, cuArrayCreate_v2)(&array, &wanted), CUDA_SUCCESS);
        EXPECT_EQ(CALL(of.cuda, cuArrayCreate_v2)(&second_array, &wanted), CUDA_SUCCESS);
        stream = of.make_stream();
    }

    const Worker& worker;
    std::vector<char> host;
    CUdeviceptr one = 0;
    CUdeviceptr other = 0;
    CUdeviceptr managed = 0;
    CUarray array = nullptr;
    CUarray second_array = nullptr;
    CUstream stream = nullptr;
};

template <typename Copy>
void set_within(Copy& copy, const Places& places) {
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = places.one;
    copy.srcPitch = kWidth;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = places.other;
    copy.dstPitch = kWidth;
    copy.WidthInBytes = kWidth;
    copy.Height = kHeight;
}

template <typename Copy>
void set_from_host(Copy& copy, const Places& places) {
    set_within(copy, places);
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = places.host.data();
}

struct Case {
    const char* name;
    WorkKind kind;
    std::function<CUresult()> call;
};

#define BOTH(name, suffix, kind, ...)                                                        \
    {#name, WorkKind::kind, [&] { return CALL(cuda, name)(__VA_ARGS__); }}, {                \
        #name #suffix, WorkKind::kind, [&] { return CALL(cuda, name##suffix)(__VA_ARGS__); } \
    }

class GuardWorkKinds : public testing::Test {
  protected:
    SimulatedNode node_{"gpus:\n  - {model: A, memory: 8GiB}\n"};
    GuardedContainer container_{node_, {{0, kGiB, 0, 50 * kPercent, kWhole}}};

    void SetUp() override { container_.grant_plenty(); }
    [[nodiscard]] std::int64_t total(WorkKind kind) const {
        const ProcessTime& time = container_.region().accounts().times[0][0];
        return time.in_flight[static_cast<int>(kind)].total_ns.load();
    }
    static constexpr int kTries = 200;
    void expect_each(const Worker& worker, const std::vector<Case>& cases) const {
        for (const Case& each : cases) {
            EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
            const std::int64_t kernels = total(WorkKind::kernels);
            const std::int64_t copies = total(WorkKind::copies);
            const auto is_counted = [&] {
                return total(WorkKind::kernels) > kernels || total(WorkKind::copies) > copies;
            };
            // A work interval shorter than the recent overhead of waits counts for nothing.
            for (int tried = 0; tried < kTries && !is_counted(); tried++) {
                EXPECT_EQ(each.call(), CUDA_SUCCESS) << each.name;
                EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
            }
            const bool is_kernel = each.kind == WorkKind::kernels;
            EXPECT_EQ(total(WorkKind::kernels) > kernels, is_kernel) << each.name;
            EXPECT_EQ(total(WorkKind::copies) > copies, !is_kernel) << each.name;
        }
    }
    template <typename Body>
    void in_worker(Body body) const {
        gpusim::in_child([&] {
            const Worker worker(container_.facade());
            const Places places(worker);
            body(worker, places);
        });
    }
};

TEST_F(GuardWorkKinds, RowsAndBoxes) {
    in_worker([this](const Worker& worker, const Places& places) {
        const Library& cuda = worker.cuda;
        CUstream stream = places.stream;
        CUDA_MEMCPY2D_v2 within = {};
        CUDA_MEMCPY2D_v2 from_host = {};
        CUDA_MEMCPY3D_v2 box_within = {};
        CUDA_MEMCPY3D_v2 box_from_host = {};
        CUDA_MEMCPY3D_PEER_v1 peer = {};
        set_within(within, places);
        set_from_host(from_host, places);
        set_within(box_within, places);
        set_from_host(box_from_host, places);
        set_within(peer, places);
        box_within.Depth = box_from_host.Depth = peer.Depth = 1;
        peer.srcContext = peer.dstContext = worker.context;
        expect_each(worker, {BOTH(cuMemcpy2D_v2, _ptds, kernels, &within),
                             BOTH(cuMemcpy2D_v2, _ptds, copies, &from_host),
                             BOTH(cuMemcpy2DUnaligned_v2, _ptds, kernels, &within),
                             BOTH(cuMemcpy2DAsync_v2, _ptsz, kernels, &within, stream),
                             BOTH(cuMemcpy2DAsync_v2, _ptsz, copies, &from_host, stream),
                             BOTH(cuMemcpy3D_v2, _ptds, kernels, &box_within),
                             BOTH(cuMemcpy3D_v2, _ptds, copies, &box_from_host),
                             BOTH(cuMemcpy3DAsync_v2, _ptsz, kernels, &box_within, stream),
                             BOTH(cuMemcpy3DPeer, _ptds, copies, &peer),
                             BOTH(cuMemcpy3DPeerAsync, _ptsz, copies, &peer, stream),
                             BOTH(cuMemcpyPeer, _ptds, copies, places.one, worker.context,
                                  places.other, worker.context, kBytes),
                             BOTH(cuMemcpyPeerAsync, _ptsz, copies, places.one, worker.context,
                                  places.other, worker.context, kBytes, stream)});
    });
}

TEST_F(GuardWorkKinds, Arrays) {
    in_worker([this](const Worker& worker, const Places& places) {
        const Library& cuda = worker.cuda;
        CUstream stream = places.stream;
        auto* const host = const_cast<char*>(places.host.data());
        CUarray array = places.array;
        expect_each(
            worker,
            {BOTH(cuMemcpyDtoA_v2, _ptds, kernels, array, 0, places.one, kWidth),
             BOTH(cuMemcpyAtoD_v2, _ptds, kernels, places.one, array, 0, kWidth),
             BOTH(cuMemcpyAtoA_v2, _ptds, kernels, array, 0, places.second_array, 0, kWidth),
             BOTH(cuMemcpyHtoA_v2, _ptds, copies, array, 0, host, kWidth),
             BOTH(cuMemcpyAtoH_v2, _ptds, copies, host, array, 0, kWidth),
             BOTH(cuMemcpyHtoAAsync_v2, _ptsz, copies, array, 0, host, kWidth, stream),
             BOTH(cuMemcpyAtoHAsync_v2, _ptsz, copies, host, array, 0, kWidth, stream)});
    });
}

TEST_F(GuardWorkKinds, BatchesAndPrefetches) {
    in_worker([this](const Worker& worker, const Places& places) {
        const Library& cuda = worker.cuda;
        CUstream stream = places.stream;
        CUdeviceptr to[] = {places.one};
        CUdeviceptr from[] = {places.other};
        std::size_t bytes[] = {kBytes};
        CUmemcpyAttributes_v1 attributes = {};
        attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
        std::size_t index = 0;
        std::size_t failed = 0;
        CUDA_MEMCPY3D_BATCH_OP_v1 box = {};
        box.src.type = box.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
        box.src.op.ptr.ptr = places.one;
        box.dst.op.ptr.ptr = places.other;
        box.extent = {kBytes, 1, 1};
        const CUmemLocation gpu = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
        CUmemLocation prefetched_to = gpu;
        CUdeviceptr managed[] = {places.managed};
        expect_each(
            worker,
            {BOTH(cuMemcpyBatchAsync, _ptsz, copies, to, from, bytes, 1, &attributes, &index, 1,
                  &failed, stream),
             BOTH(cuMemcpy3DBatchAsync, _ptsz, copies, 1, &box, &failed, 0, stream),
             BOTH(cuMemcpyBatchAsync_v2, _ptsz, copies, to, from, bytes, 1, &attributes, &index, 1,
                  stream),
             BOTH(cuMemcpy3DBatchAsync_v2, _ptsz, copies, 1, &box, 0, stream),
             BOTH(cuMemcpyWithAttributesAsync, _ptsz, copies, places.one, places.other, kBytes,
                  &attributes, stream),
             BOTH(cuMemcpy3DWithAttributesAsync, _ptsz, copies, &box, 0, stream),
             BOTH(cuMemPrefetchBatchAsync, _ptsz, copies, managed, bytes, 1, &prefetched_to, &index,
                  1, 0, stream),
             BOTH(cuMemDiscardAndPrefetchBatchAsync, _ptsz, copies, managed, bytes, 1,
                  &prefetched_to, &index, 1, 0, stream),
             BOTH(cuMemPrefetchAsync, _ptsz, copies, places.managed, kBytes, 0, stream),
             BOTH(cuMemPrefetchAsync_v2, _ptsz, copies, places.managed, kBytes, gpu, 0, stream)});
    });
}

TEST_F(GuardWorkKinds, Fills) {
    in_worker([this](const Worker& worker, const Places& places) {
        const Library& cuda = worker.cuda;
        CUstream stream = places.stream;
        const CUdeviceptr to = places.one;
        expect_each(
            worker,
            {BOTH(cuMemsetD16_v2, _ptds, kernels, to, 1, kBytes / 2),
             BOTH(cuMemsetD2D8_v2, _ptds, kernels, to, kWidth, 1, kWidth, kHeight),
             BOTH(cuMemsetD2D16_v2, _ptds, kernels, to, kWidth, 1, kWidth / 2, kHeight),
             BOTH(cuMemsetD2D32_v2, _ptds, kernels, to, kWidth, 1, kWidth / 4, kHeight),
             BOTH(cuMemsetD16Async, _ptsz, kernels, to, 1, kBytes / 2, stream),
             BOTH(cuMemsetD2D8Async, _ptsz, kernels, to, kWidth, 1, kWidth, kHeight, stream),
             BOTH(cuMemsetD2D16Async, _ptsz, kernels, to, kWidth, 1, kWidth / 2, kHeight, stream),
             BOTH(cuMemsetD2D32Async, _ptsz, kernels, to, kWidth, 1, kWidth / 4, kHeight, stream)});
    });
}

TEST_F(GuardWorkKinds, RowsOfBytes) {
    in_worker([this](const Worker& worker, const Places& places) {
        const Library& cuda = worker.cuda;
        CUstream stream = places.stream;
        auto* const host = const_cast<char*>(places.host.data());
        const CUdeviceptr to = places.one;
        const CUdeviceptr from = places.other;
        expect_each(worker, {BOTH(cuMemcpy, _ptds, copies, to, from, kBytes),
                             BOTH(cuMemcpyHtoD_v2, _ptds, copies, to, host, kBytes),
                             BOTH(cuMemcpyDtoH_v2, _ptds, copies, host, from, kBytes),
                             BOTH(cuMemcpyDtoD_v2, _ptds, kernels, to, from, kBytes),
                             BOTH(cuMemsetD8_v2, _ptds, kernels, to, 1, kBytes),
                             BOTH(cuMemsetD32_v2, _ptds, kernels, to, 1, kBytes / 4),
                             BOTH(cuMemcpyAsync, _ptsz, copies, to, from, kBytes, stream),
                             BOTH(cuMemcpyHtoDAsync_v2, _ptsz, copies, to, host, kBytes, stream),
                             BOTH(cuMemcpyDtoHAsync_v2, _ptsz, copies, host, from, kBytes, stream),
                             BOTH(cuMemcpyDtoDAsync_v2, _ptsz, kernels, to, from, kBytes, stream),
                             BOTH(cuMemsetD8Async, _ptsz, kernels, to, 1, kBytes, stream),
                             BOTH(cuMemsetD32Async, _ptsz, kernels, to, 1, kBytes / 4, stream)});
    });
}

TEST_F(GuardWorkKinds, Launches) {
    in_worker([this](const Worker& worker, const Places& places) {
        const Library& cuda = worker.cuda;
        CUstream stream = places.stream;
        std::uint64_t ns = gpusim::kMillisecond;
        void* parameters[] = {&ns};
        CUlaunchConfig config = {};
        config.gridDimX = config.gridDimY = config.gridDimZ = 1;
        config.blockDimX = config.blockDimY = config.blockDimZ = 1;
        config.hStream = stream;
        expect_each(worker, {BOTH(cuLaunchKernel, _ptsz, kernels, worker.spin, 1, 1, 1, 32, 1, 1, 0,
                                  stream, parameters, nullptr),
                             BOTH(cuLaunchCooperativeKernel, _ptsz, kernels, worker.spin, 1, 1, 1,
                                  32, 1, 1, 0, stream, parameters),
                             BOTH(cuLaunchKernelEx, _ptsz, kernels, &config, worker.spin,
                                  parameters, nullptr)});
    });
}

TEST_F(GuardWorkKinds, LaunchesOfCuda2AndOfSeveralDevices) {
    in_worker([this](const Worker& worker, const Places& places) {
        const Library& cuda = worker.cuda;
        std::uint64_t ns = gpusim::kMillisecond;
        void* parameters[] = {&ns};
        EXPECT_EQ(CALL(cuda, cuFuncSetBlockShape)(worker.spin, 32, 1, 1), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuParamSetSize)(worker.spin, sizeof ns), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuParamSetv)(worker.spin, 0, &ns, sizeof ns), CUDA_SUCCESS);
        CUDA_LAUNCH_PARAMS_v1 launches[] = {
            {worker.spin, 1, 1, 1, 32, 1, 1, 0, places.stream, parameters}};
        const WorkKind kind = WorkKind::kernels;
        expect_each(
            worker,
            {{"cuLaunch", kind, [&] { return CALL(cuda, cuLaunch)(worker.spin); }},
             {"cuLaunchGrid", kind, [&] { return CALL(cuda, cuLaunchGrid)(worker.spin, 2, 1); }},
             {"cuLaunchGridAsync", kind,
              [&] { return CALL(cuda, cuLaunchGridAsync)(worker.spin, 2, 1, places.stream); }},
             {"cuLaunchCooperativeKernelMultiDevice", kind,
              [&] { return CALL(cuda, cuLaunchCooperativeKernelMultiDevice)(launches, 1, 0); }}});
    });
}

}  // namespace
}  // namespace tessera::guard
