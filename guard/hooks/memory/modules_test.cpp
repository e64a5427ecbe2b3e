// Goal: what modules take of the GPU is charged until they are unloaded or their context ends. What
// their PTX declares is refused before the driver is called. Method: PTX with variables, alone and
// through the facade in front of the simulated driver, whose own count is compared.
#include <fstream>

#include "guard/hooks/memory/module_size.hpp"
#include "guard/test_support/held_memory.hpp"

namespace tessera::guard {
namespace {

using gpusim::CudaProgram;
using gpusim::kGiB;
using gpusim::kMiB;

std::string module_of(const std::string& variables) {
    return "// made by a test\n.version 6.0\n.target sm_60\n.address_size 64\n" + variables;
}

std::string table_of(std::uint64_t bytes) {
    return module_of(".visible .global .align 8 .b8 table[" + std::to_string(bytes) + "];\n");
}

TEST(ModuleSize, OfWhatTheTextDeclares) {
    const auto size = [](const std::string& text) { return ptx_global_bytes(text.c_str()); };
    EXPECT_EQ(size(module_of("")), 0U);
    EXPECT_EQ(size(module_of(".global .align 4 .f32 x;\n")), 4U);
    EXPECT_EQ(size(module_of(".visible .global .align 16 .b8 a[100][3] = {1, 2};\n"
                             ".global .u64 b = 7; .global .v4 .f32 c[2];\n")),
              300U + 8 + 32);
    EXPECT_EQ(size(module_of(".global .b8 large[3000000];")), 4 * kMiB) << "whole allocation units";
    EXPECT_EQ(size(module_of(".extern .global .b8 others[5000];\n.const .b8 no[10];\n")), 0U);
    EXPECT_EQ(size(module_of("/* .global .b8 no[5]; */ // .global .b8 no[5];\n")), 0U);
    EXPECT_EQ(size(module_of(".entry k() { ld.global.u32 %r1, [%rd1]; }\n")), 0U);
    EXPECT_EQ(size(module_of(".global .b8 unending[99999999999999999999999];\n")),
              ~std::uint64_t{0});
    EXPECT_EQ(size(module_of(".global .b8 cut[12")), 12U);
    EXPECT_EQ(size("\x7f"
                   "ELF"),
              0U);
    EXPECT_EQ(size(""), 0U);
    EXPECT_EQ(ptx_global_bytes(nullptr), 0U);
}

class GuardModules : public HeldMemory {
  protected:
    static CUresult load(const CudaProgram& tenant, CUmodule& module, const std::string& text) {
        return CALL(tenant.cuda, cuModuleLoadData)(&module, text.c_str());
    }
    static CUresult unload(const CudaProgram& tenant, CUmodule module) {
        return CALL(tenant.cuda, cuModuleUnload)(module);
    }
};

TEST_F(GuardModules, ExactToAnAllocationUnitWhereTheTextSaysIt) {
    in_tenant([&](CudaProgram& tenant) {
        CUmodule first = nullptr;
        CUmodule second = nullptr;
        EXPECT_EQ(load(tenant, first, table_of(500 * kMiB)), CUDA_SUCCESS);
        expect_held(kContext + 500 * kMiB);
        EXPECT_EQ(load(tenant, second, table_of(426 * kMiB)), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(load(tenant, second, table_of(424 * kMiB)), CUDA_SUCCESS);
        expect_held(kGiB);
        EXPECT_EQ(unload(tenant, first), CUDA_SUCCESS);
        expect_held(kContext + 424 * kMiB);
        EXPECT_EQ(load(tenant, first, table_of(kMiB / 2)), CUDA_SUCCESS);
        expect_held(kContext + 426 * kMiB);
        EXPECT_EQ(CALL(tenant.cuda, cuCtxDestroy_v2)(tenant.context), CUDA_SUCCESS);
        expect_held(0);
    });
}

// As for an image that declares nothing.
TEST_F(GuardModules, MeasuredWhereTheImageSaysNothing) {
    const std::string path = (node_.root() / "module.ptx").string();
    std::ofstream(path) << table_of(500 * kMiB);
    in_tenant([&](CudaProgram& tenant) {
        CUmodule module = nullptr;
        EXPECT_EQ(CALL(tenant.cuda, cuModuleLoad)(&module, path.c_str()), CUDA_SUCCESS);
        expect_held(kContext + 500 * kMiB);
        CUmodule second = nullptr;
        EXPECT_EQ(CALL(tenant.cuda, cuModuleLoad)(&second, path.c_str()), CUDA_ERROR_OUT_OF_MEMORY);
        expect_held(kContext + 500 * kMiB);
        EXPECT_EQ(unload(tenant, module), CUDA_SUCCESS);
        expect_held(kContext);
        EXPECT_EQ(CALL(tenant.cuda, cuModuleLoad)(&module, "/nothing"), CUDA_ERROR_FILE_NOT_FOUND);
        expect_held(kContext);
        CUlibrary library = nullptr;
        const auto load_library = CALL(tenant.cuda, cuLibraryLoadFromFile);
        EXPECT_EQ(load_library(&library, path.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
                  CUDA_SUCCESS);
        expect_held(kContext + 500 * kMiB);
        EXPECT_EQ(CALL(tenant.cuda, cuLibraryUnload)(library), CUDA_SUCCESS);
        expect_held(kContext);
    });
}

TEST_F(GuardModules, ByEachCall) {
    in_tenant([&](CudaProgram& tenant) {
        const std::string text = table_of(100 * kMiB);
        CUmodule module = nullptr;
        CUlibrary library = nullptr;
        EXPECT_EQ(CALL(tenant.cuda, cuModuleLoadDataEx)(&module, text.c_str(), 0, nullptr, nullptr),
                  CUDA_SUCCESS);
        expect_held(kContext + 100 * kMiB);
        EXPECT_EQ(unload(tenant, module), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant.cuda, cuModuleLoadFatBinary)(&module, text.c_str()), CUDA_SUCCESS);
        expect_held(kContext + 100 * kMiB);
        EXPECT_EQ(CALL(tenant.cuda, cuLibraryLoadData)(&library, text.c_str(), nullptr, nullptr, 0,
                                                       nullptr, nullptr, 0),
                  CUDA_SUCCESS);
        expect_held(kContext + 200 * kMiB);
        EXPECT_EQ(CALL(tenant.cuda, cuLibraryUnload)(library), CUDA_SUCCESS);
        EXPECT_EQ(unload(tenant, module), CUDA_SUCCESS);
        expect_held(kContext);
    });
}

TEST_F(GuardModules, WhatTheDriverRefusesIsPutBack) {
    in_tenant([&](CudaProgram& tenant) {
        CUmodule module = nullptr;
        EXPECT_EQ(node_.control("fault 0 allocation 1"), 0);
        EXPECT_EQ(load(tenant, module, table_of(100 * kMiB)), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(load(tenant, module, "nothing"), CUDA_ERROR_INVALID_IMAGE);
        EXPECT_EQ(CALL(tenant.cuda, cuModuleLoadData)(&module, nullptr), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(tenant.cuda, cuModuleLoadData)(nullptr, ""), CUDA_ERROR_INVALID_VALUE);
        expect_held(kContext);
    });
    EXPECT_EQ(container_.region().accounts().gpus[0].refusals.load(), 0U);
}

}  // namespace
}  // namespace tessera::guard
