// Goal: what the driver itself takes for graphs, for code that it loads late and for the local
// memory of kernels is charged, is refused over the limit where that is possible, and is released.
// Method: the facade in front of a simulated GPU that takes such memory, whose own count is
// compared.
#include <functional>
#include <string>

#include "gpusim/test_support/cuda_program.hpp"
#include "guard/region/account.hpp"
#include "guard/test_support/guarded_container.hpp"

namespace tessera::guard {
namespace {

using gpusim::CudaProgram;
using gpusim::kGiB;
using gpusim::kMiB;

constexpr std::uint64_t kContext = 100 * kMiB;
constexpr std::uint64_t kGraph = 70 * kMiB;
// 8 KiB more than the initial stack, for each thread of the simulated GPU.
constexpr std::uint64_t kLocal = 8 * 1024 * (40 * std::uint64_t{1024});
constexpr std::uint64_t kCode = 20 * kMiB;

constexpr char kKernels[] =
    "//gpusim-local large 9216\n"
    "//gpusim-local larger 102400\n"
    ".version 6.0\n"
    ".visible .entry small()\n"
    ".visible .entry large()\n"
    ".visible .entry larger()\n";
constexpr char kLazyKernels[] =
    "//gpusim-lazy 20971520\n"
    ".version 6.0\n"
    ".visible .entry one()\n"
    ".visible .entry two()\n";

class GuardDriverMemory : public testing::Test {
  protected:
    gpusim::SimulatedNode node_{
        "gpus:\n"
        "  - {model: A, memory: 8GiB, context_overhead: 100MiB, graph_overhead: 70MiB}\n"};
    GuardedContainer container_{node_, {{0, kGiB, kContext}}};

    void expect_held(std::uint64_t bytes) const {
        EXPECT_EQ(held(container_.region().accounts(), 0) * kAllocationUnitBytes, bytes);
        EXPECT_EQ(node_.used(0), bytes) << "as the driver says";
    }
    template <typename Body>
    void in_tenant(Body body) const {
        gpusim::in_child([&] {
            CudaProgram tenant(container_.facade());
            body(tenant);
        });
    }
    static CUmodule load(const CudaProgram& tenant, const char* image) {
        CUmodule module = nullptr;
        EXPECT_EQ(CALL(tenant.cuda, cuModuleLoadData)(&module, image), CUDA_SUCCESS);
        return module;
    }
    static CUfunction find(const CudaProgram& tenant, CUmodule module, const char* name) {
        CUfunction function = nullptr;
        EXPECT_EQ(CALL(tenant.cuda, cuModuleGetFunction)(&function, module, name), CUDA_SUCCESS);
        return function;
    }
    static CUgraph make_graph(const CudaProgram& tenant) {
        CUgraph graph = nullptr;
        CUgraphNode node = nullptr;
        EXPECT_EQ(CALL(tenant.cuda, cuGraphCreate)(&graph, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuGraphAddEmptyNode)(&node, graph, nullptr, 0), CUDA_SUCCESS);
        return graph;
    }
};

TEST_F(GuardDriverMemory, OfExecutableGraphsCountsUntilTheyAreDestroyed) {
    in_tenant([this](CudaProgram& tenant) {
        const gpusim::Library& cuda = tenant.cuda;
        CUgraph graph = make_graph(tenant);
        CUDA_GRAPH_INSTANTIATE_PARAMS parameters = {};
        const std::function<CUresult(CUgraphExec*)> forms[] = {
            [&](CUgraphExec* exec) {
                return CALL(cuda, cuGraphInstantiate)(exec, graph, nullptr, nullptr, 0);
            },
            [&](CUgraphExec* exec) {
                return CALL(cuda, cuGraphInstantiate_v2)(exec, graph, nullptr, nullptr, 0);
            },
            [&](CUgraphExec* exec) {
                return CALL(cuda, cuGraphInstantiateWithFlags)(exec, graph, 0);
            },
            [&](CUgraphExec* exec) {
                return CALL(cuda, cuGraphInstantiateWithParams)(exec, graph, &parameters);
            },
            [&](CUgraphExec* exec) {
                return CALL(cuda, cuGraphInstantiateWithParams_ptsz)(exec, graph, &parameters);
            },
        };
        for (const auto& form : forms) {
            CUgraphExec exec = nullptr;
            EXPECT_EQ(form(&exec), CUDA_SUCCESS);
            expect_held(kContext + kGraph);
            EXPECT_EQ(CALL(cuda, cuGraphLaunch)(exec, nullptr), CUDA_SUCCESS);
            EXPECT_EQ(CALL(cuda, cuGraphExecDestroy)(exec), CUDA_SUCCESS);
            expect_held(kContext);
        }
    });
}

TEST_F(GuardDriverMemory, OfExecutableGraphsIsRefusedOverTheLimit) {
    in_tenant([this](CudaProgram& tenant) {
        const auto instantiate = CALL(tenant.cuda, cuGraphInstantiateWithFlags);
        CUgraph graph = make_graph(tenant);
        CUgraphExec exec = nullptr;
        EXPECT_EQ(tenant.allocate(kGiB - kContext - kGraph), CUDA_SUCCESS);
        EXPECT_EQ(instantiate(&exec, graph, 0), CUDA_SUCCESS);
        expect_held(kGiB);
        CUgraphExec refused = nullptr;
        EXPECT_EQ(instantiate(&refused, graph, 0), CUDA_ERROR_OUT_OF_MEMORY);
        expect_held(kGiB);
        EXPECT_EQ(CALL(tenant.cuda, cuGraphExecDestroy)(exec), CUDA_SUCCESS);
        EXPECT_EQ(instantiate(&exec, graph, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuCtxDestroy_v2)(tenant.context), CUDA_SUCCESS);
        EXPECT_EQ(held(container_.region().accounts(), 0), 0U);
    });
}

TEST_F(GuardDriverMemory, ForLocalArraysCountsFromTheFirstLaunch) {
    in_tenant([this](CudaProgram& tenant) {
        const CUmodule module = load(tenant, kKernels);
        const CUfunction small = find(tenant, module, "small");
        const CUfunction large = find(tenant, module, "large");
        const CUfunction larger = find(tenant, module, "larger");
        const auto launch = [&](CUfunction function) {
            return CALL(tenant.cuda, cuLaunchKernel)(function, 1, 1, 1, 32, 1, 1, 0, nullptr,
                                                     nullptr, nullptr);
        };
        EXPECT_EQ(launch(small), CUDA_SUCCESS);
        expect_held(kContext);
        for (int i = 0; i < 3; i++) {
            EXPECT_EQ(launch(large), CUDA_SUCCESS);
            expect_held(kContext + kLocal);
        }
        EXPECT_EQ(launch(larger), CUDA_ERROR_OUT_OF_MEMORY) << "more than the share";
        expect_held(kContext + kLocal);
        EXPECT_EQ(CALL(tenant.cuda, cuCtxDestroy_v2)(tenant.context), CUDA_SUCCESS);
        expect_held(0);
    });
}

// Each way to launch a kernel.
TEST_F(GuardDriverMemory, ForLocalArraysCountsByWhicheverLaunch) {
    const auto expect = [this](const std::function<CUresult(CudaProgram&, CUfunction)>& launch) {
        in_tenant([&](CudaProgram& tenant) {
            const CUfunction large = find(tenant, load(tenant, kKernels), "large");
            EXPECT_EQ(launch(tenant, large), CUDA_SUCCESS);
            expect_held(kContext + kLocal);
        });
        container_.region().reap();
    };
    expect([](CudaProgram& tenant, CUfunction function) {
        return CALL(tenant.cuda, cuLaunchKernel_ptsz)(function, 1, 1, 1, 32, 1, 1, 0, nullptr,
                                                      nullptr, nullptr);
    });
    expect([](CudaProgram& tenant, CUfunction function) {
        return CALL(tenant.cuda, cuLaunchCooperativeKernel)(function, 1, 1, 1, 32, 1, 1, 0, nullptr,
                                                            nullptr);
    });
    expect([](CudaProgram& tenant, CUfunction function) {
        const CUlaunchConfig config = {1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, 0};
        return CALL(tenant.cuda, cuLaunchKernelEx)(&config, function, nullptr, nullptr);
    });
    expect([](CudaProgram& tenant, CUfunction function) {
        EXPECT_EQ(CALL(tenant.cuda, cuFuncSetBlockShape)(function, 32, 1, 1), CUDA_SUCCESS);
        return CALL(tenant.cuda, cuLaunch)(function);
    });
    expect([](CudaProgram& tenant, CUfunction function) {
        CUstream stream = nullptr;
        EXPECT_EQ(CALL(tenant.cuda, cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
        CUDA_LAUNCH_PARAMS_v1 launches[] = {{function, 1, 1, 1, 32, 1, 1, 0, stream, nullptr}};
        return CALL(tenant.cuda, cuLaunchCooperativeKernelMultiDevice)(launches, 1, 0);
    });
}

TEST_F(GuardDriverMemory, OfCodeThatIsLoadedLateCountsWithItsModule) {
    in_tenant([this](CudaProgram& tenant) {
        for (int i = 0; i < 100; i++) {  // the charges must not add up
            const CUmodule module = load(tenant, kLazyKernels);
            EXPECT_EQ(node_.used(0), kContext);
            find(tenant, module, "one");
            expect_held(kContext + kCode);
            find(tenant, module, "two");
            expect_held(kContext + kCode);
            EXPECT_EQ(CALL(tenant.cuda, cuModuleUnload)(module), CUDA_SUCCESS);
            expect_held(kContext);
        }
    });
}

TEST_F(GuardDriverMemory, OfLibrariesCountsByWhicheverLookUp) {
    in_tenant([this](CudaProgram& tenant) {
        const gpusim::Library& cuda = tenant.cuda;
        CUlibrary library = nullptr;
        CUkernel kernel = nullptr;
        CUfunction function = nullptr;
        CUmodule module = nullptr;
        EXPECT_EQ(CALL(cuda, cuLibraryLoadData)(&library, kLazyKernels, nullptr, nullptr, 0,
                                                nullptr, nullptr, 0),
                  CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuLibraryGetModule)(&module, library), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuda, cuLibraryGetKernel)(&kernel, library, "one"), CUDA_SUCCESS);
        expect_held(kContext + kCode);
        EXPECT_EQ(CALL(cuda, cuKernelGetFunction)(&function, kernel), CUDA_SUCCESS);
        expect_held(kContext + kCode);
        EXPECT_EQ(CALL(cuda, cuLibraryUnload)(library), CUDA_SUCCESS);
        expect_held(kContext);
    });
}

}  // namespace
}  // namespace tessera::guard
