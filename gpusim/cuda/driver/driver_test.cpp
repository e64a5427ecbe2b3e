// Goal: cuInit, devices, results and cuGetProcAddress answer as the driver's documentation says.
// Method: libcuda.so.1 loaded by path and called by symbol name, each case in a process of its own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "api/nvidia/cuda.h"
#include "gpusim/test_support/child_process.hpp"
#include "gpusim/test_support/simulated_node.hpp"

namespace gpusim {
namespace {

class CudaDriver : public testing::Test {
  protected:
    SimulatedNode node_{kTwoGpus};
    Library load() const { return Library(node_.library("libcuda.so.1")); }
};

TEST_F(CudaDriver, DescribesDevices) {
    in_child([&] {
        const Library cuda = load();
        ASSERT_EQ(CALL(cuda, cuInit)(0), CUDA_SUCCESS);
        CUdevice device = -1;
        EXPECT_EQ(CALL(cuda, cuDeviceGet)(&device, 2), CUDA_ERROR_INVALID_DEVICE);
        EXPECT_EQ(CALL(cuda, cuDeviceGet)(&device, -1), CUDA_ERROR_INVALID_DEVICE);
        ASSERT_EQ(CALL(cuda, cuDeviceGet)(&device, 1), CUDA_SUCCESS);

        char text[64] = {};
        EXPECT_EQ(CALL(cuda, cuDeviceGetName)(text, sizeof text, device), CUDA_SUCCESS);
        EXPECT_STREQ(text, "Tesla T4");
        EXPECT_EQ(CALL(cuda, cuDeviceGetName)(text, 6, device), CUDA_SUCCESS);
        EXPECT_STREQ(text, "Tesla");
        EXPECT_EQ(CALL(cuda, cuDeviceGetName)(text, sizeof text, 9), CUDA_ERROR_INVALID_DEVICE);

        size_t bytes = 0;
        EXPECT_EQ(CALL(cuda, cuDeviceTotalMem_v2)(&bytes, device), CUDA_SUCCESS);
        EXPECT_EQ(bytes, 15360 * kMiB);
        EXPECT_EQ(CALL(cuda, cuDeviceGetPCIBusId)(text, sizeof text, device), CUDA_SUCCESS);
        EXPECT_STREQ(text, "0000:11:00.0");
        EXPECT_EQ(CALL(cuda, cuDeviceGetPCIBusId)(text, 12, device), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuDeviceGetByPCIBusId)(&device, "0000:10:00.0"), CUDA_SUCCESS);
        EXPECT_EQ(device, 0);

        int value = 0;
        EXPECT_EQ(CALL(cuda, cuDeviceGetAttribute)(
                      &value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
                  CUDA_SUCCESS);
        EXPECT_EQ(value, 7);
        EXPECT_EQ(
            CALL(cuda, cuDeviceGetAttribute)(&value, static_cast<CUdevice_attribute>(127), device),
            CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(CudaDriver, UuidIsTheGpusInBytes) {
    const SimulatedNode node(
        "gpus: [{model: A, memory: 1GiB, uuid: GPU-01234567-89ab-cdef-fedc-ba9876543210}]");
    in_child([&] {
        const Library cuda(node.library("libcuda.so.1"));
        ASSERT_EQ(CALL(cuda, cuInit)(0), CUDA_SUCCESS);
        constexpr unsigned char kWanted[16] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
                                               0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10};
        CUuuid uuid = {};
        ASSERT_EQ(CALL(cuda, cuDeviceGetUuid)(&uuid, 0), CUDA_SUCCESS);
        EXPECT_EQ(std::memcmp(uuid.bytes, kWanted, 16), 0);
        uuid = {};
        ASSERT_EQ(CALL(cuda, cuDeviceGetUuid_v2)(&uuid, 0), CUDA_SUCCESS);
        EXPECT_EQ(std::memcmp(uuid.bytes, kWanted, 16), 0);
    });
}

TEST_F(CudaDriver, AHiddenGpuIsNoDevice) {
    const auto init_with = [&](const char* variable, const char* value) {
        CUresult result = CUDA_ERROR_UNKNOWN;
        ChildProcess child([&](Wire& wire) {
            setenv(variable, value, 1);
            const Library cuda = load();
            wire.send(static_cast<std::uint64_t>(CALL(cuda, cuInit)(0)) + 1);
        });
        result = static_cast<CUresult>(child.wire().receive() - 1);
        EXPECT_EQ(child.join(), 0);
        return result;
    };
    EXPECT_EQ(init_with("NVIDIA_VISIBLE_DEVICES", "none"), CUDA_ERROR_NO_DEVICE);
    EXPECT_EQ(init_with("GPUSIM_DIR", "/nowhere"), CUDA_ERROR_NO_DEVICE);
    EXPECT_EQ(init_with("CUDA_VISIBLE_DEVICES", "1"), CUDA_SUCCESS);
    node_.hide(1);
    EXPECT_EQ(init_with("CUDA_VISIBLE_DEVICES", "1"), CUDA_ERROR_NO_DEVICE);
    node_.hide(3);
    EXPECT_EQ(init_with("CUDA_VISIBLE_DEVICES", "0"), CUDA_ERROR_NO_DEVICE);
}

TEST_F(CudaDriver, FindsStateByVariableToo) {
    const SimulatedNode other("gpus: [{model: Elsewhere, memory: 1GiB}]");
    in_child([&] {
        setenv("GPUSIM_DIR", other.state_directory().c_str(), 1);
        const Library cuda = load();
        ASSERT_EQ(CALL(cuda, cuInit)(0), CUDA_SUCCESS);
        char name[64] = {};
        EXPECT_EQ(CALL(cuda, cuDeviceGetName)(name, sizeof name, 0), CUDA_SUCCESS);
        EXPECT_STREQ(name, "Elsewhere");
    });
}

TEST_F(CudaDriver, ChildOfInitializedProcessIsNot) {
    in_child([&] {
        const Library cuda = load();
        ASSERT_EQ(CALL(cuda, cuInit)(0), CUDA_SUCCESS);
        CUcontext context = nullptr;
        CUdeviceptr pointer = 0;
        ASSERT_EQ(CALL(cuda, cuCtxCreate_v2)(&context, 0, 0), CUDA_SUCCESS);
        ASSERT_EQ(CALL(cuda, cuMemAlloc_v2)(&pointer, kGiB), CUDA_SUCCESS);
        in_child([&] {
            int count = 0;
            CUdeviceptr mine = 0;
            EXPECT_EQ(CALL(cuda, cuInit)(0), CUDA_ERROR_NOT_INITIALIZED);
            EXPECT_EQ(CALL(cuda, cuDeviceGetCount)(&count), CUDA_ERROR_NOT_INITIALIZED);
            EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(&mine, 1), CUDA_ERROR_NOT_INITIALIZED);
            EXPECT_EQ(CALL(cuda, cuCtxSynchronize)(), CUDA_ERROR_NOT_INITIALIZED);
        });
        EXPECT_EQ(node_.used(0), kGiB) << "the child's end took nothing from its parent";
        EXPECT_EQ(CALL(cuda, cuMemFree_v2)(pointer), CUDA_SUCCESS);
    });
}

TEST_F(CudaDriver, ReadOnlyStateIsAnOperatingSystemError) {
    if (geteuid() != 0)
        GTEST_SKIP() << "needs root, whose rights it drops so that the files are read-only";
    for (const char* name : {"gpus", "locks"}) {
        std::filesystem::permissions(node_.state_directory() / name,
                                     static_cast<std::filesystem::perms>(0444));
    }
    in_child([&] {
        const Library cuda = load();
        ASSERT_EQ(seteuid(65534), 0);
        EXPECT_EQ(CALL(cuda, cuInit)(0), CUDA_ERROR_OPERATING_SYSTEM);
    });
}

// What the conformance suite cannot expect of any driver: functions that this driver does not have,
// or has in addition.
TEST_F(CudaDriver, ProcAddressKnowsWhatIsModelled) {
    const struct {
        const char* name;
        const char* symbol;  // null: none
        int version;
        CUdriverProcAddressQueryResult status;
    } rows[] = {
        {"cuMemAlloc", "cuMemAlloc_v2", 12080, CU_GET_PROC_ADDRESS_SUCCESS},
        {"cuMemcpyHtoD", nullptr, 2000, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT},
        {"cuCtxCreate", "cuCtxCreate_v4", 13000, CU_GET_PROC_ADDRESS_SUCCESS},
        {"cuOfTomorrow", nullptr, 12080, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND},
        {"", nullptr, 12080, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND},
    };
    in_child([&] {
        const Library cuda = load();
        for (const auto& row : rows) {
            void* wanted = row.symbol != nullptr ? cuda.find(row.symbol) : nullptr;
            void* found = nullptr;
            auto status = CU_GET_PROC_ADDRESS_SUCCESS;
            EXPECT_EQ(CALL(cuda, cuGetProcAddress_v2)(row.name, &found, row.version, 0, &status),
                      CUDA_SUCCESS);
            EXPECT_EQ(found, wanted) << row.name << " " << row.version;
            EXPECT_EQ(status, row.status) << row.name << " " << row.version;
            EXPECT_EQ(CALL(cuda, cuGetProcAddress)(row.name, &found, row.version, 2),
                      wanted != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
            EXPECT_EQ(found, wanted) << row.name << " " << row.version;
        }
        void* found = nullptr;
        // For one of these two, a real driver ends the process.
        EXPECT_EQ(CALL(cuda, cuGetProcAddress_v2)(nullptr, &found, 12080, 0, nullptr),
                  CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuGetProcAddress_v2)("cuInit", nullptr, 12080, 0, nullptr),
                  CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuda, cuGetProcAddress_v2)("cuInit", &found, 12080, 0, nullptr),
                  CUDA_SUCCESS);
    });
}

}  // namespace
}  // namespace gpusim
