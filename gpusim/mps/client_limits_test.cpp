// Goal: limits that are set through nvidia-cuda-mps-control and the environment hold in programs.
// Method: programs on a node with a control daemon; times are those of the device's clock. Source:
// docs/research/mps-580.md.
#include <gtest/gtest.h>

#include "gpusim/test_support/mps_test.hpp"
#include "gpusim/test_support/worker.hpp"

namespace gpusim {
namespace {

constexpr char kGpus[] =
    "gpus:\n"
    "  - {model: A, memory: 16GiB, context_overhead: 512MiB, multiprocessors: 40}\n"
    "  - {model: NVIDIA H100 80GB HBM3, memory: 4GiB, context_overhead: 192MiB}\n"
    "  - {model: A, memory: 1GiB, time_slice: 2ms, switch_time: 270us, multiprocessors: 40}\n";

class MpsClientLimits : public MpsTest {
  protected:
    MpsClientLimits() : MpsTest(kGpus) {}

    // Runs `body` as a client.
    template <class Body>
    void as_client(const Body& body, int line = __builtin_LINE()) const {
        in_child(
            [&] {
                const Worker worker(library());
                body(worker);
            },
            line);
    }
    void expect_multiprocessors(int expected, int device, int line = __builtin_LINE()) const {
        as_client(
            [=](const Worker& worker) {
                int count = 0;
                EXPECT_EQ(CALL(worker.cuda, cuDeviceGetAttribute)(
                              &count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device),
                          CUDA_SUCCESS);
                EXPECT_EQ(count, expected);
            },
            line);
    }
    // What a program can allocate in pieces, in MiB.
    static std::uint64_t get_all(Worker& worker, std::uint64_t piece) {
        std::uint64_t all = 0;
        while (worker.allocate(piece * kMiB) == CUDA_SUCCESS)
            all += piece;
        return all;
    }
};

TEST_F(MpsClientLimits, TheLowerThreadPercentageCounts) {
    expect_multiprocessors(132, 1);
    const std::string server = daemon_.server();
    daemon_.command("set_active_thread_percentage " + server + " 90");
    expect_multiprocessors(118, 1);
    expect_multiprocessors(36, 0);
    {
        const Variable own("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "10");
        expect_multiprocessors(12, 1);
    }
    const Variable own("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "95");
    expect_multiprocessors(118, 1);
}

TEST_F(MpsClientLimits, AKernelThatFillsTheGpuTakesLonger) {
    const std::string server = daemon_.server();
    for (const unsigned percentage : {100U, 50U, 25U, 10U}) {
        daemon_.command("set_active_thread_percentage " + server + " " +
                        std::to_string(percentage));
        as_client([=](const Worker& worker) {
            EXPECT_EQ(kernel_us(worker), 100'000U / percentage) << percentage << " %";
        });
    }
}

TEST_F(MpsClientLimits, ClientsRunSideBySideWhileTheyFit) {
    daemon_.command("set_active_thread_percentage " + daemon_.server() + " 50");
    for (const char* gpu : {"0", "2"}) {
        const Variable visible("CUDA_VISIBLE_DEVICES", gpu);
        const auto busy = std::make_unique<ChildProcess>([this](Wire& wire) {
            const Worker worker(library());
            EXPECT_EQ(worker.launch(1000 * kMillisecond * kMillisecond), CUDA_SUCCESS);
            wire.send();
            wire.receive();
        });
        EXPECT_EQ(busy->wire().receive(), 1U);
        as_client([=](const Worker& worker) {
            EXPECT_EQ(kernel_us(worker), 2000U) << "its half is its own; GPU " << gpu;
        });
        const auto other = std::make_unique<ChildProcess>([this](Wire& wire) {
            const Worker worker(library());
            EXPECT_EQ(worker.launch(1000 * kMillisecond * kMillisecond), CUDA_SUCCESS);
            wire.send();
            wire.receive();
        });
        EXPECT_EQ(other->wire().receive(), 1U);
        as_client([=](const Worker& worker) {
            EXPECT_EQ(kernel_us(worker), 3000U) << "three halves share the GPU";
        });
    }
}

TEST_F(MpsClientLimits, BesideAnotherProcessTheyTakeTurns) {
    const auto busy = [this] {
        const Variable no_daemon("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent");
        return std::make_unique<ChildProcess>([this](Wire& wire) {
            const Worker worker(library());
            EXPECT_EQ(worker.launch(1000 * kMillisecond * kMillisecond), CUDA_SUCCESS);
            wire.send();
            wire.receive();
        });
    }();
    EXPECT_EQ(busy->wire().receive(), 1U);
    as_client([](const Worker& worker) { EXPECT_EQ(kernel_us(worker), 2000U); });
}

TEST_F(MpsClientLimits, APinnedLimitCountsTheContext) {
    const std::string server = daemon_.server();
    daemon_.command("set_device_pinned_mem_limit " + server + " 0 10G");
    daemon_.command("set_device_pinned_mem_limit " + server + " 1 2G");
    in_child([this] {
        Worker worker(library());
        EXPECT_EQ(worker.total_bytes(), 16 * kGiB) << "the whole GPU";
        const std::uint64_t free = worker.free_bytes() / kMiB;
        EXPECT_LE(free, 9728U);
        const std::uint64_t modules = 9728 - free;
        EXPECT_EQ(get_all(worker, 2), 9728 - modules) << "10 GiB without the context";
        EXPECT_EQ(worker.free_bytes(), 0U);
        EXPECT_EQ(worker.free_last(), CUDA_SUCCESS);
        EXPECT_EQ(worker.free_bytes(), 2 * kMiB);
    });
    const Variable second("CUDA_VISIBLE_DEVICES", "1");
    in_child([this] {
        CudaProgram program(library());
        std::uint64_t all = 0;
        while (program.allocate(64 * kMiB) == CUDA_SUCCESS)
            all += 64;
        EXPECT_EQ(all, 1856U) << "2 GiB without a context of 192 MiB";
    });
}

// Also memory that the client has released, and that only a descriptor keeps.
TEST_F(MpsClientLimits, APinnedLimitCountsExportedMemory) {
    daemon_.command("set_device_pinned_mem_limit " + daemon_.server() + " 0 2G");
    in_child([this] {
        const CudaProgram program(library());
        constexpr auto kType = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        CUmemAllocationProp properties = {};
        properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.requestedHandleTypes = kType;
        properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
        const auto create = CALL(program.cuda, cuMemCreate);
        CUmemGenericAllocationHandle handle = 0;
        int fd = -1;
        ASSERT_EQ(create(&handle, kGiB, &properties, 0), CUDA_SUCCESS);
        ASSERT_EQ(CALL(program.cuda, cuMemExportToShareableHandle)(&fd, handle, kType, 0),
                  CUDA_SUCCESS);
        ASSERT_EQ(CALL(program.cuda, cuMemRelease)(handle), CUDA_SUCCESS);
        EXPECT_EQ(program.free_bytes(), 512 * kMiB);
        EXPECT_EQ(create(&handle, kGiB, &properties, 0), CUDA_ERROR_OUT_OF_MEMORY);
        ASSERT_EQ(CALL(program.cuda, cuMemImportFromShareableHandle)(
                      &handle, as_pointer(static_cast<CUdeviceptr>(fd)), kType),
                  CUDA_SUCCESS);
        close(fd);
        EXPECT_EQ(program.free_bytes(), 512 * kMiB);
        EXPECT_EQ(CALL(program.cuda, cuMemRelease)(handle), CUDA_SUCCESS);
        EXPECT_EQ(program.free_bytes(), 1536 * kMiB);
    });
}

TEST_F(MpsClientLimits, TheLowerPinnedLimitCounts) {
    daemon_.command("set_device_pinned_mem_limit " + daemon_.server() + " 1 2G");
    const Variable device("CUDA_VISIBLE_DEVICES", "1");
    const auto free_mib = [this] {
        ChildProcess child(
            [this](Wire& wire) { wire.send(CudaProgram(library()).free_bytes() / kMiB + 1); });
        const std::uint64_t free = child.wire().receive() - 1;
        EXPECT_EQ(child.join(), 0);
        return free;
    };
    const std::uint64_t unlimited = 4096 - 192 - 66;
    EXPECT_EQ(free_mib(), 1856U);
    const std::string uuid = node_.gpus()[1].uuid;
    const struct {
        std::string text;
        std::uint64_t expected;
    } rows[] = {
        {"0=1G", 832},       {uuid + "=1GB", 832},
        {"0=4G", 1856},      {uuid + "=512M,0=1G", 320},
        {"5=1G", unlimited}, {"0=512M,GPU-44669384-cedd-aef4-0000-000000000000=1G", unlimited}};
    for (const auto& row : rows) {
        const Variable own("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", row.text.c_str());
        EXPECT_EQ(free_mib(), row.expected) << row.text;
    }
}

TEST_F(MpsClientLimits, WithoutMpsTheEnvironmentLimitsNothing) {
    const Variable no_daemon("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent");
    const Variable threads("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "10");
    const Variable memory("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=1G");
    expect_multiprocessors(40, 0);
    as_client([](const Worker& worker) { EXPECT_GT(worker.free_bytes(), 15 * kGiB); });
}

}  // namespace
}  // namespace gpusim
