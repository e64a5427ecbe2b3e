#include "adapters/nvml/nvml_inventory.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "api/nvidia/cuda.h"
#include "base/log.hpp"
#include "gpusim/test_support/child_process.hpp"
#include "gpusim/test_support/simulated_node.hpp"

namespace tessera {
namespace {

using std::chrono_literals::operator""ms;

constexpr char kGpus[] =
    "gpus:\n"
    "  - {model: Tesla T4, memory: 15360MiB, reserved: 360MiB, minor: 3}\n"
    "  - {model: NVIDIA A10, memory: 24GiB, minor: 1}\n"
    "  - {model: Tesla T4, memory: 15GiB, minor: 2}\n";

// Uses the simulated driver. Each node has its own copy of the library, so each test starts from
// scratch.
class NvmlInventoryTest : public ::testing::Test {
  protected:
    explicit NvmlInventoryTest(const char* gpus = kGpus) : node_(gpus) {}

    void open() {
        auto opened = open_nvml(node_.root().string());
        ASSERT_TRUE(opened) << opened.error().text;
        driver_ = *std::move(opened);
    }
    void control(const std::string& command) const { ASSERT_EQ(node_.control(command), 0); }
    GpuUuid uuid(std::size_t gpu) const { return GpuUuid(node_.gpus()[gpu].uuid); }
    std::vector<GpuReading> read() {
        auto readings = driver_->read();
        if (readings) return *std::move(readings);
        ADD_FAILURE() << readings.error().text;
        return {};
    }
    // The reading of a GPU that must exist.
    GpuReading reading_of(std::size_t gpu) {
        for (GpuReading& reading : read()) {
            if (reading.uuid == uuid(gpu)) return reading;
        }
        ADD_FAILURE() << "GPU " << gpu << " is not there";
        return {};
    }
    // The errors of the GPUs, by position in the node's list; "-" if a GPU is not among the
    // readings.
    std::vector<std::string> errors() {
        std::vector<std::string> out(node_.gpus().size(), "-");
        for (const GpuReading& reading : read()) {
            for (std::size_t i = 0; i < out.size(); ++i) {
                if (reading.uuid == uuid(i)) out[i] = reading.lost;
            }
        }
        return out;
    }
    // The next fault that was already reported.
    std::optional<GpuFault> fault() {
        const auto got = driver_->wait_fault(0ms);
        if (got) return *got;
        ADD_FAILURE() << got.error().text;
        return std::nullopt;
    }

    gpusim::SimulatedNode node_;
    std::unique_ptr<GpuInventory> driver_;
};

using Words = std::vector<std::string>;

// Goal: a GPU's identity, size and position come from the driver; the minor number is not the
// index.
TEST_F(NvmlInventoryTest, ReadsGpus) {
    open();
    const auto gpus = read();
    ASSERT_EQ(gpus.size(), 3U);
    EXPECT_EQ(gpus[0].uuid, uuid(0));
    EXPECT_EQ(gpus[0].index, 0);
    EXPECT_EQ(gpus[0].minor, 3);
    EXPECT_EQ(gpus[0].model, "Tesla T4");
    EXPECT_EQ(gpus[0].memory, gibibytes(15));
    EXPECT_EQ(gpus[0].reserved, Bytes{360 * kMiB});
    EXPECT_EQ(gpus[0].used, Bytes{}) << "the reserve is not in use";
    EXPECT_EQ(gpus[0].lost, "");
    EXPECT_EQ(gpus[0].recovery, RecoveryAction::none);
    EXPECT_EQ(gpus[1].model, "NVIDIA A10");
}

class NvmlLinksTest : public NvmlInventoryTest {
  protected:
    NvmlLinksTest()
        : NvmlInventoryTest(
              "gpus:\n"
              "  - {model: A, memory: 1GiB, numa: 0, pcie_switch: 0}\n"
              "  - {model: A, memory: 1GiB, numa: 0, pcie_switch: 0, nvlink: 3}\n"
              "  - {model: A, memory: 1GiB, numa: 1, nvlink: 3}\n") {}

    std::vector<GpuLinks> links() {
        std::vector<GpuLinks> out;
        for (const GpuReading& reading : read())
            out.push_back(reading.links);
        return out;
    }
    const std::vector<GpuLinks> expected_ = {{.numa = 0, .pcie = 0b010, .nvlink = 0},
                                             {.numa = 0, .pcie = 0b001, .nvlink = 0b100},
                                             {.numa = 1, .pcie = 0, .nvlink = 0b010}};
};

// Goal: the driver reports the links; a GPU that is lost later keeps them.
TEST_F(NvmlLinksTest, AreReadAndKept) {
    open();
    EXPECT_EQ(links(), expected_);
    control("lose 1");
    EXPECT_EQ(links(), expected_);
}

// Goal: a GPU that appears later has its links, too.
TEST_F(NvmlLinksTest, ComeWithTheGpu) {
    control("lose 1");
    open();
    EXPECT_EQ(read().size(), 3U);
    control("recover 1");
    EXPECT_EQ(links(), expected_);
}

// Goal: one failed GPU, with any error, does not affect the others. It keeps its name and is back
// when it answers.
TEST_F(NvmlInventoryTest, OneGpuThatFails) {
    open();
    const auto before = read();
    control("lose 1");
    EXPECT_EQ(errors(), (Words{"", "GPU is lost", ""}));
    control("recover 1");
    control("fail 1");
    EXPECT_EQ(errors(), (Words{"", "Unknown Error", ""}));
    EXPECT_EQ(reading_of(1).memory, before.at(1).memory);
    EXPECT_EQ(reading_of(1).recovery, RecoveryAction::unknown);
    control("recover 1");
    EXPECT_EQ(read(), before);
}

// Goal: a GPU that is broken at the start does not hide the others of the node, and is shown by its
// index. Once it reports its UUID, it has its name, and its faults are received.
TEST_F(NvmlInventoryTest, BrokenFromTheStart) {
    control("fail 0");
    control("lose 1");
    open();
    EXPECT_EQ(errors(), (Words{"-", "-", ""}));
    const auto gpus = read();
    ASSERT_EQ(gpus.size(), 3U);
    EXPECT_EQ(gpus[0].uuid, unidentified_gpu(0));
    EXPECT_EQ(gpus[0].lost, "Unknown Error");
    EXPECT_EQ(gpus[1].uuid, unidentified_gpu(1));
    EXPECT_EQ(gpus[1].lost, "GPU is lost");
    EXPECT_EQ(fault(), std::nullopt);
    control("recover 0");
    EXPECT_EQ(errors(), (Words{"", "-", ""}));
    EXPECT_EQ(fault(), std::nullopt);
    control("xid 0 48");
    EXPECT_EQ(fault(), (GpuFault{uuid(0), 48}));
}

// Goal: a fault belongs to its GPU, even if the GPU no longer reports its UUID.
TEST_F(NvmlInventoryTest, FaultsNameTheirGpu) {
    open();
    read();
    EXPECT_EQ(fault(), std::nullopt);
    control("xid 2 48");
    control("lose 1");
    EXPECT_EQ(fault(), (GpuFault{uuid(2), 48}));
    EXPECT_EQ(fault(), (GpuFault{uuid(1), 79}));
    EXPECT_EQ(reading_of(2).recovery, RecoveryAction::reset);
}

// Goal: a driver without the field for the recovery action is distinguished from one that needs no
// recovery.
TEST_F(NvmlInventoryTest, OldDriver) {
    control("driver old");
    open();
    EXPECT_EQ(reading_of(0).recovery, RecoveryAction::unknown);
    EXPECT_EQ(reading_of(0).lost, "");
}

// Goal: a driver that fails every call is an error, and no GPU is forgotten.
TEST_F(NvmlInventoryTest, DeadDriver) {
    open();
    const auto before = read();
    control("driver dead");
    EXPECT_EQ(driver_->read().error(),
              (Error{Code::unavailable, "nvmlDeviceGetCount: Unknown Error"}));
    EXPECT_FALSE(driver_->wait_fault(0ms));
    control("driver current");
    EXPECT_EQ(read(), before);
    EXPECT_EQ(fault(), std::nullopt);
}

// Goal: each state in which a GPU cannot be shared, or is faulty, is read while the agent runs, and
// so is its end.
TEST_F(NvmlInventoryTest, ReadsModesAndMemoryFaults) {
    open();
    const GpuReading good = reading_of(1);
    EXPECT_EQ(good.setup, GpuSetup{});
    EXPECT_EQ(good.faults, MemoryFaults{});
    const struct {
        const char* setting;
        GpuSetup setup;
        MemoryFaults faults;
    } rows[] = {
        {"mig on", {.mig = true}, {}},
        {"compute-mode exclusive-process", {.compute_mode = ComputeMode::exclusive}, {}},
        {"compute-mode prohibited", {.compute_mode = ComputeMode::prohibited}, {}},
        {"rows pending", {}, {.remap_pending = true}},
        {"rows failed", {}, {.remap_failed = true}},
        {"retired-pages pending", {}, {.retire_pending = true}},
        {"memory-errors some", {}, {.uncorrected = true}},
    };
    for (const auto& row : rows) {
        control(std::string("set 1 ") + row.setting);
        GpuReading expected = good;
        expected.setup = row.setup;
        expected.faults = row.faults;
        EXPECT_EQ(reading_of(1), expected) << row.setting;
        control("recover 1");
        EXPECT_EQ(reading_of(1), good) << row.setting;
    }
}

// Goal: missing optional values remove no GPU, and no value is invented for them.
TEST_F(NvmlInventoryTest, WhatTheDriverDoesNotSay) {
    for (const char* hidden : {"minor", "name", "topology", "memory"})
        control(fmt::format("set 0 {} hidden", hidden));
    open();
    const GpuReading gpu = reading_of(0);
    EXPECT_EQ(gpu.lost, "");
    EXPECT_EQ(gpu.minor, kMinorUnknown);
    EXPECT_EQ(gpu.model, "");
    EXPECT_EQ(gpu.memory, Bytes{});
    EXPECT_FALSE(gpu.setup.knows_memory);
    EXPECT_EQ(gpu.links, GpuLinks{});
    EXPECT_EQ(read().size(), 3U);
}

// Goal: an impossible size is ignored, and the reserve with it.
TEST_F(NvmlInventoryTest, ASizeThatCannotBe) {
    control("set 0 memory zero");
    open();
    const GpuReading gpu = reading_of(0);
    EXPECT_EQ(gpu.lost, "");
    EXPECT_FALSE(gpu.setup.knows_memory);
    EXPECT_EQ(gpu.memory, Bytes{});
    EXPECT_EQ(gpu.reserved, Bytes{});
}

// Goal: a GPU that reports its UUID and fails another call has its name, from the first reading on.
TEST_F(NvmlInventoryTest, NamedThoughItsMemoryCannotBeRead) {
    control("set 0 memory fails");
    open();
    EXPECT_EQ(reading_of(0).uuid, uuid(0));
    EXPECT_EQ(reading_of(0).lost, "Unknown Error");
    control("set 0 memory known");
    EXPECT_EQ(reading_of(0).lost, "");
}

// Goal: if NVML counts the reserve as used, the reserve is not published as free.
TEST_F(NvmlInventoryTest, AReserveThatIsNotToldApart) {
    control("set 0 reserve hidden");
    open();
    EXPECT_EQ(reading_of(0).reserved, Bytes{360 * kMiB});
    EXPECT_EQ(reading_of(0).used, Bytes{});
    EXPECT_EQ(reading_of(0).memory, gibibytes(15));
}

// Goal: a reloaded driver answers again after reopen(). A GPU that is broken then keeps its earlier
// name.
TEST_F(NvmlInventoryTest, ReopensADriverThatWasLoadedAnew) {
    open();
    const auto before = read();
    EXPECT_EQ(fault(), std::nullopt);
    control("driver reload");
    EXPECT_FALSE(driver_->read());
    EXPECT_FALSE(driver_->read()) << "it does not come back by itself";
    control("lose 1");
    const auto reopened = driver_->reopen();
    ASSERT_TRUE(reopened) << reopened.error().text;
    EXPECT_EQ(errors(), (Words{"", "GPU is lost", ""}));
    control("recover 1");
    EXPECT_EQ(read(), before);
    EXPECT_EQ(fault(), std::nullopt);
    control("xid 2 48");
    EXPECT_EQ(fault(), (GpuFault{uuid(2), 48}));
}

// A process that uses 1 GiB of a GPU until it is stopped.
void hold_a_gib(const gpusim::SimulatedNode& node, int gpu, gpusim::Wire& wire) {
    const gpusim::Library cuda(node.library("libcuda.so.1"));
    CUcontext context = nullptr;
    CUdeviceptr pointer = 0;
    EXPECT_EQ(CALL(cuda, cuInit)(0), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuda, cuCtxCreate_v2)(&context, 0, gpu), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuda, cuMemAlloc_v2)(&pointer, 1U << 30U), CUDA_SUCCESS);
    wire.send();
    wire.receive();
}

// Goal: a process without reported memory use hides no other process. That such processes are not
// watched is logged once.
TEST_F(NvmlInventoryTest, ProcessesWithoutWhatTheyUse) {
    gpusim::ChildProcess first([this](gpusim::Wire& wire) { hold_a_gib(node_, 0, wire); });
    gpusim::ChildProcess second([this](gpusim::Wire& wire) { hold_a_gib(node_, 1, wire); });
    ASSERT_EQ(first.wire().receive(), 1U);
    ASSERT_EQ(second.wire().receive(), 1U);
    open();
    read();
    const auto pids = [this] {
        std::vector<std::int64_t> out;
        const auto found = driver_->processes();
        EXPECT_TRUE(found) << found.error().text;
        for (const GpuProcess& process : *found) {
            EXPECT_EQ(process.used, Bytes{std::int64_t{1} << 30});
            out.push_back(process.pid);
        }
        std::ranges::sort(out);
        return out;
    };
    std::vector<std::int64_t> both{first.pid(), second.pid()};
    std::ranges::sort(both);
    EXPECT_EQ(pids(), both);
    const auto logged = event_count(Event::bypass_detection_failed);
    control("set 0 process-memory hidden");
    EXPECT_EQ(pids(), std::vector<std::int64_t>{second.pid()});
    EXPECT_EQ(pids(), std::vector<std::int64_t>{second.pid()});
    EXPECT_EQ(event_count(Event::bypass_detection_failed), logged + 1);
    control("set 0 process-memory known");
    EXPECT_EQ(pids(), both);
    EXPECT_EQ(event_count(Event::bypass_detection_failed), logged + 1);
}

// The files of the driver that this process has open or mapped, one line for each.
std::string driver_files(const std::string& root) {
    std::string out;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        if (line.find(root) != std::string::npos) out += line + "\n";
    }
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        const auto target = std::filesystem::read_symlink(entry, gone).string();
        if (target.find(root) != std::string::npos) out += target + "\n";
    }
    return out;
}

// Goal: a closed driver can be unloaded: none of its files is open or mapped. No call reaches it
// until reopen().
TEST_F(NvmlInventoryTest, LetsGoOfTheDriver) {
    const std::string root = std::filesystem::canonical(node_.root()).string();
    const std::string of_test = driver_files(root);
    open();
    const auto before = read();
    EXPECT_EQ(fault(), std::nullopt);
    EXPECT_NE(driver_files(root), of_test);
    driver_->close();
    EXPECT_EQ(driver_files(root), of_test);
    const Error released{Code::unavailable, "the driver is closed"};
    EXPECT_EQ(driver_->read().error(), released);
    EXPECT_EQ(driver_->processes().error(), released);
    EXPECT_EQ(driver_->wait_fault(0ms).error(), released);
    driver_->close();
    ASSERT_TRUE(driver_->reopen());
    EXPECT_EQ(read(), before);
}

// Goal: a missing driver, and one that does not start, are errors that name the searched folders.
TEST_F(NvmlInventoryTest, NoDriver) {
    const auto missing = open_nvml("/nowhere");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Code::unavailable);
    EXPECT_NE(missing.error().text.find("/nowhere/usr/lib64/libnvidia-ml.so.1"), std::string::npos);
    std::filesystem::remove_all(node_.state_directory());
    const auto down = open_nvml(node_.root().string());
    ASSERT_FALSE(down);
    EXPECT_NE(down.error().text.find("nvmlInit: Driver Not Loaded"), std::string::npos)
        << down.error().text;
}

}  // namespace
}  // namespace tessera
