// Goal: what gpusimctl does to a GPU reaches the processes that watch it. Method: gpusimctl is run
// from one process while another waits in nvmlEventSetWait; no test measures time.
#include <gtest/gtest.h>

#include "api/nvidia/nvml.h"
#include "gpusim/state/events.hpp"
#include "gpusim/test_support/child_process.hpp"
#include "gpusim/test_support/simulated_node.hpp"

namespace gpusim {
namespace {

constexpr unsigned kLongMs = 60000;  // ends a broken test; a working one never waits for it
constexpr unsigned long long kHealth =
    nvmlEventTypeXidCriticalError | nvmlEventTypeDoubleBitEccError | nvmlEventTypeSingleBitEccError;

class NvmlEvents : public testing::Test {
  protected:
    SimulatedNode node_{kTwoGpus};
};

// A process that watches GPUs.
struct Watcher {
    explicit Watcher(const SimulatedNode& node) : nvml(node.library("libnvidia-ml.so.1")) {
        EXPECT_EQ(CALL(nvml, nvmlInit_v2)(), NVML_SUCCESS);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetHandleByIndex_v2)(0, &first), NVML_SUCCESS);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetHandleByIndex_v2)(1, &second), NVML_SUCCESS);
        EXPECT_EQ(CALL(nvml, nvmlEventSetCreate)(&set), NVML_SUCCESS);
    }

    void watch(nvmlDevice_t device, unsigned long long types = kHealth) const {
        EXPECT_EQ(CALL(nvml, nvmlDeviceRegisterEvents)(device, types, set), NVML_SUCCESS);
    }

    nvmlReturn_t wait(unsigned timeout_ms) {
        return CALL(nvml, nvmlEventSetWait_v2)(set, &event, timeout_ms);
    }

    unsigned recovery_action(nvmlDevice_t device) const {
        nvmlFieldValue_t field = {};
        field.fieldId = NVML_FI_DEV_GET_GPU_RECOVERY_ACTION;
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetFieldValues)(device, 1, &field), NVML_SUCCESS);
        EXPECT_EQ(field.nvmlReturn, NVML_SUCCESS);
        return field.value.uiVal;
    }

    Library nvml;
    nvmlDevice_t first = nullptr;
    nvmlDevice_t second = nullptr;
    nvmlEventSet_t set = nullptr;
    nvmlEventData_t event = {};
};

TEST_F(NvmlEvents, XidArrivesAndLatches) {
    ChildProcess child([this](Wire& wire) {
        Watcher watcher(node_);
        watcher.watch(watcher.first);
        watcher.watch(watcher.second);
        EXPECT_EQ(watcher.recovery_action(watcher.second), NVML_GPU_RECOVERY_ACTION_NONE);
        wire.send();
        ASSERT_EQ(watcher.wait(kLongMs), NVML_SUCCESS);
        EXPECT_EQ(watcher.event.device, watcher.second);
        EXPECT_EQ(watcher.event.eventType, nvmlEventTypeXidCriticalError);
        EXPECT_EQ(watcher.event.eventData, 48U);
        EXPECT_EQ(watcher.event.gpuInstanceId, 0xFFFFFFFFU);
        EXPECT_EQ(watcher.wait(0), NVML_ERROR_TIMEOUT) << "an event comes once";
        EXPECT_EQ(watcher.recovery_action(watcher.first), NVML_GPU_RECOVERY_ACTION_NONE);
        EXPECT_EQ(watcher.recovery_action(watcher.second), NVML_GPU_RECOVERY_ACTION_GPU_RESET);
        wire.send();
        wire.receive();
        EXPECT_EQ(watcher.recovery_action(watcher.second), NVML_GPU_RECOVERY_ACTION_NONE);
    });
    child.wire().receive();
    EXPECT_EQ(node_.control("xid " + node_.gpus()[1].uuid + " 48"), 0);
    child.wire().receive();
    EXPECT_EQ(node_.control("recover 1"), 0);
    child.wire().send();
    EXPECT_EQ(child.join(), 0);
}

TEST_F(NvmlEvents, OnlyWhatIsRegisteredAndOnlyFromThen) {
    in_child([this] {
        Watcher watcher(node_);
        EXPECT_EQ(node_.control("xid 0 31"), 0);
        watcher.watch(watcher.first, nvmlEventTypeXidCriticalError);
        EXPECT_EQ(watcher.wait(0), NVML_ERROR_TIMEOUT) << "it was before the registration";
        EXPECT_EQ(node_.control("xid 1 32"), 0);
        EXPECT_EQ(node_.control("ecc 0"), 0);
        EXPECT_EQ(watcher.wait(0), NVML_ERROR_TIMEOUT);
        EXPECT_EQ(node_.control("xid 0 33"), 0);
        EXPECT_EQ(node_.control("xid 0 34"), 0);
        ASSERT_EQ(watcher.wait(0), NVML_SUCCESS);
        EXPECT_EQ(watcher.event.eventData, 33U);
        ASSERT_EQ(watcher.wait(0), NVML_SUCCESS);
        EXPECT_EQ(watcher.event.eventData, 34U);
    });
}

TEST_F(NvmlEvents, EccHasTwoKinds) {
    in_child([this] {
        Watcher watcher(node_);
        watcher.watch(watcher.first);
        EXPECT_EQ(node_.control("ecc 0"), 0);
        EXPECT_EQ(node_.control("ecc 0 single"), 0);
        ASSERT_EQ(watcher.wait(0), NVML_SUCCESS);
        EXPECT_EQ(watcher.event.eventType, nvmlEventTypeDoubleBitEccError);
        nvmlEventData_t old = {};
        old.gpuInstanceId = 7;
        ASSERT_EQ(CALL(watcher.nvml, nvmlEventSetWait)(watcher.set, &old, 0), NVML_SUCCESS);
        EXPECT_EQ(old.eventType, nvmlEventTypeSingleBitEccError);
        EXPECT_EQ(old.gpuInstanceId, 7U) << "the first version's struct has no such member";
    });
}

TEST_F(NvmlEvents, LostGpuAnswersNothingElse) {
    in_child([this] {
        Watcher watcher(node_);
        watcher.watch(watcher.first);
        EXPECT_EQ(node_.control("lose 0"), 0);
        ASSERT_EQ(watcher.wait(0), NVML_SUCCESS);
        EXPECT_EQ(watcher.event.eventData, 79U);
        EXPECT_EQ(watcher.wait(0), NVML_ERROR_GPU_IS_LOST);
        nvmlMemory_t memory = {};
        nvmlDevice_t again = nullptr;
        unsigned count = 0;
        char uuid[96] = {};
        const Library& nvml = watcher.nvml;
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetMemoryInfo)(watcher.first, &memory),
                  NVML_ERROR_GPU_IS_LOST);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetUUID)(watcher.first, uuid, sizeof uuid),
                  NVML_ERROR_GPU_IS_LOST);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetHandleByIndex_v2)(0, &again), NVML_ERROR_GPU_IS_LOST);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetHandleByUUID)(node_.gpus()[0].uuid.c_str(), &again),
                  NVML_ERROR_GPU_IS_LOST);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetMemoryInfo)(watcher.second, &memory), NVML_SUCCESS);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetCount_v2)(&count), NVML_SUCCESS);
        EXPECT_EQ(count, 2U);
        EXPECT_EQ(node_.control("recover 0"), 0);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetMemoryInfo)(watcher.first, &memory), NVML_SUCCESS);
        EXPECT_EQ(watcher.wait(0), NVML_ERROR_TIMEOUT);
    });
}

TEST_F(NvmlEvents, FailedGpuAnswersAnErrorAndReportsNothing) {
    in_child([this] {
        Watcher watcher(node_);
        const Library& nvml = watcher.nvml;
        watcher.watch(watcher.first);
        EXPECT_EQ(node_.control("fail 0"), 0);
        EXPECT_EQ(watcher.wait(0), NVML_ERROR_TIMEOUT);
        nvmlMemory_t memory = {};
        nvmlDevice_t again = nullptr;
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetMemoryInfo)(watcher.first, &memory), NVML_ERROR_UNKNOWN);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetHandleByIndex_v2)(0, &again), NVML_ERROR_UNKNOWN);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetMemoryInfo)(watcher.second, &memory), NVML_SUCCESS);
        EXPECT_EQ(node_.control("recover 0"), 0);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetMemoryInfo)(watcher.first, &memory), NVML_SUCCESS);
    });
}

TEST_F(NvmlEvents, OldAndDeadDrivers) {
    in_child([this] {
        const Watcher watcher(node_);
        const Library& nvml = watcher.nvml;
        nvmlFieldValue_t field = {};
        field.fieldId = NVML_FI_DEV_GET_GPU_RECOVERY_ACTION;
        EXPECT_EQ(node_.control("driver old"), 0);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetFieldValues)(watcher.first, 1, &field), NVML_SUCCESS);
        EXPECT_EQ(field.nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
        EXPECT_EQ(node_.control("driver dead"), 0);
        unsigned count = 0;
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetCount_v2)(&count), NVML_ERROR_UNKNOWN);
        EXPECT_EQ(node_.control("driver current"), 0);
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetCount_v2)(&count), NVML_SUCCESS);
        EXPECT_EQ(watcher.recovery_action(watcher.first), NVML_GPU_RECOVERY_ACTION_NONE);
    });
}

TEST_F(NvmlEvents, SurvivesALogThatWrapped) {
    in_child([this] {
        Watcher watcher(node_);
        watcher.watch(watcher.first);
        auto writable = open_root(node_.root(), Access::read_write).value();
        for (std::uint64_t i = 1; i <= 1000; i++) {
            append_event(*writable.file, {0, nvmlEventTypeXidCriticalError, i});
        }
        std::uint64_t got = 0;
        std::uint64_t last = 0;
        while (watcher.wait(0) == NVML_SUCCESS) {
            EXPECT_GT(watcher.event.eventData, last);
            last = watcher.event.eventData;
            got++;
        }
        EXPECT_EQ(last, 1000U);
        EXPECT_EQ(got, std::uint64_t{kMaxEvents});
    });
}

TEST_F(NvmlEvents, RefusesWrongArguments) {
    in_child([this] {
        const Watcher watcher(node_);
        const Library& nvml = watcher.nvml;
        unsigned long long types = 0;
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetSupportedEventTypes)(watcher.first, &types),
                  NVML_SUCCESS);
        EXPECT_EQ(types, kHealth);
        const auto subscribe = CALL(nvml, nvmlDeviceRegisterEvents);
        EXPECT_EQ(subscribe(watcher.first, nvmlEventTypeClock, watcher.set),
                  NVML_ERROR_NOT_SUPPORTED);
        EXPECT_EQ(subscribe(watcher.first, 0, watcher.set), NVML_ERROR_INVALID_ARGUMENT);
        EXPECT_EQ(subscribe(nullptr, kHealth, watcher.set), NVML_ERROR_INVALID_ARGUMENT);
        EXPECT_EQ(subscribe(watcher.first, kHealth, nullptr), NVML_ERROR_INVALID_ARGUMENT);
        nvmlFieldValue_t fields[2] = {};
        fields[0].fieldId = 1;
        fields[1].fieldId = NVML_FI_DEV_GET_GPU_RECOVERY_ACTION;
        EXPECT_EQ(CALL(nvml, nvmlDeviceGetFieldValues)(watcher.first, 2, fields), NVML_SUCCESS);
        EXPECT_EQ(fields[0].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
        EXPECT_EQ(fields[1].nvmlReturn, NVML_SUCCESS);
        EXPECT_EQ(CALL(nvml, nvmlEventSetFree)(nullptr), NVML_ERROR_INVALID_ARGUMENT);
    });
}

}  // namespace
}  // namespace gpusim
