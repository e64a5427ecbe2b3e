#include "domain/health/gpu_health.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

const GpuUuid kGpu("GPU-a");
const GpuUuid kOther("GPU-b");
const GpuProbe kAnswers{};  // an old driver: it does not report what the GPU needs
const GpuProbe kLost{.lost = "GPU is lost"};
const GpuProbe kNeedsRecovery{.recovery = RecoveryAction::reset};
const GpuProbe kRecovered{.recovery = RecoveryAction::none};

// Goal: a fault that an application causes takes no GPU out of use; any other does, and only that
// GPU. Method: NVIDIA's list, and a few other faults.
TEST(GpuHealth, OnlyFaultsOfTheGpuCount) {
    for (const int xid : {13, 31, 43, 45, 68, 109}) {
        GpuHealth health;
        health.on_fault(kGpu, xid);
        EXPECT_TRUE(is_application_fault(xid));
        EXPECT_EQ(health.reason(kGpu), "") << xid;
    }
    for (const int xid : {48, 62, 63, 64, 74, 79, 94, 95, 119, 0, -1}) {
        GpuHealth health;
        health.on_fault(kGpu, xid);
        EXPECT_FALSE(is_application_fault(xid));
        EXPECT_EQ(health.reason(kGpu), "Xid " + std::to_string(xid));
        EXPECT_EQ(health.reason(kOther), "");
    }
}

// Goal: a fault is remembered until the driver reports that the GPU is healthy.
TEST(GpuHealth, FaultIsRemembered) {
    GpuHealth health;
    health.on_fault(kGpu, 79);
    health.on_probe(kGpu, kNeedsRecovery);
    EXPECT_EQ(health.reason(kGpu), "Xid 79");
    health.on_probe(kOther, kRecovered);
    EXPECT_EQ(health.reason(kGpu), "Xid 79");
    health.on_probe(kGpu, kRecovered);
    EXPECT_EQ(health.reason(kGpu), "");
}

// Goal: if the driver cannot report that a GPU is healthy, a fault stays, and the reason says what
// clears it.
TEST(GpuHealth, OldDriverKeepsAFault) {
    GpuHealth health;
    health.on_fault(kGpu, 48);
    for (int i = 0; i < 10 * kProbesToRecover; ++i)
        health.on_probe(kGpu, kAnswers);
    EXPECT_TRUE(health.reason(kGpu).starts_with("Xid 48; ")) << health.reason(kGpu);
    EXPECT_NE(health.reason(kGpu).find("restart the agent"), std::string::npos);
    EXPECT_EQ(health.reason(kOther), "");
}

// Goal: with such a driver, a GPU that fell off the bus is back once it answers a number of
// successive probes. That does not clear an older fault of the same GPU.
TEST(GpuHealth, OldDriverGpuComesBackToTheBus) {
    GpuHealth health;
    health.on_fault(kGpu, 79);
    health.on_probe(kGpu, kLost);
    for (int i = 0; i < kProbesToRecover - 1; ++i)
        health.on_probe(kGpu, kAnswers);
    health.on_probe(kGpu, kLost);
    for (int i = 0; i < kProbesToRecover - 1; ++i)
        health.on_probe(kGpu, kAnswers);
    EXPECT_EQ(health.reason(kGpu), "Xid 79");
    health.on_probe(kGpu, kAnswers);
    EXPECT_EQ(health.reason(kGpu), "");

    health.on_fault(kGpu, 48);
    health.on_fault(kGpu, 79);
    for (int i = 0; i < 2 * kProbesToRecover; ++i)
        health.on_probe(kGpu, kAnswers);
    EXPECT_TRUE(health.reason(kGpu).starts_with("Xid 48")) << health.reason(kGpu);
}

// Goal: a GPU that does not answer is out of use, with the driver's text, and in use again when it
// answers.
TEST(GpuHealth, LostGpu) {
    GpuHealth health;
    health.on_probe(kGpu, kLost);
    EXPECT_EQ(health.reason(kGpu), "the GPU does not answer: GPU is lost");
    health.on_probe(kGpu, {.lost = "Unknown Error"});
    EXPECT_EQ(health.reason(kGpu), "the GPU does not answer: Unknown Error");
    health.on_probe(kGpu, kAnswers);
    EXPECT_EQ(health.reason(kGpu), "");
}

// Goal: a lost GPU that returns keeps its fault.
TEST(GpuHealth, FaultOutlivesALostGpu) {
    GpuHealth health;
    health.on_fault(kGpu, 79);
    health.on_probe(kGpu, kLost);
    EXPECT_EQ(health.reason(kGpu), "Xid 79");
    health.on_probe(kGpu, kAnswers);
    EXPECT_EQ(health.reason(kGpu), "Xid 79");

    health.on_probe(kOther, kLost);
    health.on_fault(kOther, 62);
    health.on_probe(kOther, kAnswers);
    EXPECT_TRUE(health.reason(kOther).starts_with("Xid 62"));
}

// Goal: a recovery action that the driver requests is a reason, until the driver requests none.
TEST(GpuHealth, DriverAsksForRecovery) {
    GpuHealth health;
    health.on_probe(kGpu, kNeedsRecovery);
    EXPECT_NE(health.reason(kGpu).find("reset"), std::string::npos);
    health.on_probe(kGpu, kRecovered);
    EXPECT_EQ(health.reason(kGpu), "");
    health.on_probe(kGpu, kLost);
    health.on_probe(kGpu, kNeedsRecovery);
    EXPECT_NE(health.reason(kGpu).find("reset"), std::string::npos);
}

// Goal: every recovery action takes the GPU out of use, with its own text.
TEST(GpuHealth, EachRecoveryActionHasItsWords) {
    const std::pair<RecoveryAction, const char*> rows[] = {
        {RecoveryAction::reset, "a reset of the GPU"},
        {RecoveryAction::reboot, "a restart of the node"},
        {RecoveryAction::drain_peers, "those linked to it"},
        {RecoveryAction::drain_and_reset, "drain the GPU"},
        {RecoveryAction::other, "newer than this agent"}};
    for (const auto& [action, words] : rows) {
        GpuHealth health;
        health.on_probe(kGpu, {.recovery = action});
        EXPECT_NE(health.reason(kGpu).find(words), std::string::npos) << health.reason(kGpu);
        health.on_probe(kGpu, kAnswers);  // one probe without an answer
        EXPECT_NE(health.reason(kGpu), "");
        health.on_probe(kGpu, kRecovered);
        EXPECT_EQ(health.reason(kGpu), "");
    }
}

// Goal: the driver decides whether an Xid takes the GPU out of use, whatever the list says.
TEST(GpuHealth, TheDriverJudgesAnXid) {
    GpuHealth health;
    health.on_fault(kGpu, 94);  // contained: the driver requests nothing
    health.on_probe(kGpu, kRecovered);
    EXPECT_EQ(health.reason(kGpu), "");
    health.on_fault(kGpu, 43);  // in the list
    health.on_probe(kGpu, kNeedsRecovery);
    EXPECT_NE(health.reason(kGpu).find("reset"), std::string::npos);
}

// Goal: a GPU that was faulty before the agent started is out of use, until a reset has repaired
// it. If the driver reports recovery actions, only faults that no reset repairs count in addition.
TEST(GpuHealth, MemoryThatWasFaultyBefore) {
    const struct {
        MemoryFaults memory;
        const char* old_driver;  // part of the reason; null: healthy
        const char* new_driver;
    } rows[] = {
        {{}, nullptr, nullptr},
        {{.remap_failed = true}, "replace it", "replace it"},
        {{.remap_pending = true}, "rows of its memory", nullptr},
        {{.retire_pending = true}, "pages of its memory", nullptr},
        {{.uncorrected = true}, "ECC", nullptr},
    };
    for (const auto& row : rows) {
        const auto expect = [&](RecoveryAction recovery, const char* words) {
            GpuHealth health;
            health.on_probe(kGpu, {.recovery = recovery, .memory = row.memory});
            const std::string reason = health.reason(kGpu);
            EXPECT_EQ(reason.empty(), words == nullptr) << reason;
            if (words != nullptr) {
                EXPECT_NE(reason.find(words), std::string::npos) << reason;
            }
            health.on_probe(kGpu, {.recovery = recovery});
            EXPECT_EQ(health.reason(kGpu), "") << "repaired";
        };
        expect(RecoveryAction::unknown, row.old_driver);
        expect(RecoveryAction::none, row.new_driver);
    }
}

}  // namespace
}  // namespace tessera
