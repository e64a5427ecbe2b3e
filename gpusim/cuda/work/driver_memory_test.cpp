// Goal: what a driver itself takes to run graphs and kernels is taken once, and is released.
// Method: a GPU whose graphs cost something, and PTX that says what its code and its kernels need.
#include "gpusim/test_support/cuda_test.hpp"

namespace gpusim {
namespace {

constexpr char kImage[] =
    "//gpusim-lazy 20971520\n"
    "//gpusim-local large 9216\n"
    ".version 6.0\n"
    ".visible .entry small()\n"
    ".visible .entry large()\n";

class CudaDriverMemory : public testing::Test {
  protected:
    SimulatedNode node_{"gpus:\n  - {model: A, memory: 1GiB, graph_overhead: 30MiB}\n"};

    template <class Body>
    void in_tenant(Body body) const {
        in_child([&] {
            CudaProgram tenant(node_.library("libcuda.so.1"));
            body(tenant);
        });
    }
};

TEST_F(CudaDriverMemory, OfGraphs) {
    in_tenant([this](CudaProgram& tenant) {
        CUgraph graph = nullptr;
        CUgraphExec exec = nullptr;
        EXPECT_EQ(CALL(tenant.cuda, cuGraphCreate)(&graph, 0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuGraphInstantiateWithFlags)(&exec, graph, 0), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 30 * kMiB);
        EXPECT_EQ(CALL(tenant.cuda, cuGraphExecDestroy)(exec), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
        EXPECT_EQ(tenant.allocate(kGiB), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuGraphInstantiateWithFlags)(&exec, graph, 0),
                  CUDA_ERROR_OUT_OF_MEMORY);
    });
}

TEST_F(CudaDriverMemory, OfCodeAndLocalMemory) {
    in_tenant([this](CudaProgram& tenant) {
        CUmodule module = nullptr;
        CUfunction function = nullptr;
        int bytes = 0;
        EXPECT_EQ(CALL(tenant.cuda, cuModuleLoadData)(&module, kImage), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
        for (const char* name : {"small", "large"}) {
            EXPECT_EQ(CALL(tenant.cuda, cuModuleGetFunction)(&function, module, name),
                      CUDA_SUCCESS);
            EXPECT_EQ(node_.used(0), 20 * kMiB) << name;
        }
        EXPECT_EQ(CALL(tenant.cuda, cuFuncGetAttribute)(&bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
                                                        function),
                  CUDA_SUCCESS);
        EXPECT_EQ(bytes, 9216);
        for (int i = 0; i < 2; i++) {
            EXPECT_EQ(CALL(tenant.cuda, cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, nullptr,
                                                        nullptr, nullptr),
                      CUDA_SUCCESS);
            EXPECT_EQ(node_.used(0), (20 + 320) * kMiB) << "8 KiB more for each of 40960 threads";
        }
        EXPECT_EQ(CALL(tenant.cuda, cuModuleUnload)(module), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 320 * kMiB);
        EXPECT_EQ(CALL(tenant.cuda, cuCtxDestroy_v2)(tenant.context), CUDA_SUCCESS);
        EXPECT_EQ(node_.used(0), 0U);
    });
}

}  // namespace
}  // namespace gpusim
