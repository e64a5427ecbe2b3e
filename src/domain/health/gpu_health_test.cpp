#include "domain/health/gpu_health.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

const GpuUuid kCard("GPU-a");
const GpuUuid kOther("GPU-b");
const GpuProbe kAnswers{};  // an old driver: it cannot say what the card needs
const GpuProbe kLost{.lost = "GPU is lost"};
const GpuProbe kNeedsRecovery{.recovery = RecoveryAction::reset};
const GpuProbe kRecovered{.recovery = RecoveryAction::none};

// Goal: a fault that an application makes itself takes no card out; any other does, and only its
// card. Method: NVIDIA's list, and a few of the rest.
TEST(GpuHealth, OnlyFaultsOfTheCardCount) {
    for (const int xid : {13, 31, 43, 45, 68, 109}) {
        GpuHealth health;
        health.on_fault(kCard, xid);
        EXPECT_TRUE(is_application_fault(xid));
        EXPECT_EQ(health.reason(kCard), "") << xid;
    }
    for (const int xid : {48, 62, 63, 64, 74, 79, 94, 95, 119, 0, -1}) {
        GpuHealth health;
        health.on_fault(kCard, xid);
        EXPECT_FALSE(is_application_fault(xid));
        EXPECT_EQ(health.reason(kCard), "Xid " + std::to_string(xid));
        EXPECT_EQ(health.reason(kOther), "");
    }
}

// Goal: a fault is remembered until the driver says that the card is good.
TEST(GpuHealth, FaultIsRemembered) {
    GpuHealth health;
    health.on_fault(kCard, 79);
    health.on_probe(kCard, kNeedsRecovery);
    EXPECT_EQ(health.reason(kCard), "Xid 79");
    health.on_probe(kOther, kRecovered);
    EXPECT_EQ(health.reason(kCard), "Xid 79");
    health.on_probe(kCard, kRecovered);
    EXPECT_EQ(health.reason(kCard), "");
}

// Goal: where the driver cannot say that a card is good, a fault stays, and the reason says what
// ends it.
TEST(GpuHealth, OldDriverKeepsAFault) {
    GpuHealth health;
    health.on_fault(kCard, 48);
    for (int i = 0; i < 10 * kProbesToRecover; ++i)
        health.on_probe(kCard, kAnswers);
    EXPECT_TRUE(health.reason(kCard).starts_with("Xid 48; ")) << health.reason(kCard);
    EXPECT_NE(health.reason(kCard).find("restart the agent"), std::string::npos);
    EXPECT_EQ(health.reason(kOther), "");
}

// Goal: there too, a card that fell off the bus is back once it answers for a while without a
// break. An older fault of the same card does not go with it.
TEST(GpuHealth, OldDriverCardComesBackToTheBus) {
    GpuHealth health;
    health.on_fault(kCard, 79);
    health.on_probe(kCard, kLost);
    for (int i = 0; i < kProbesToRecover - 1; ++i)
        health.on_probe(kCard, kAnswers);
    health.on_probe(kCard, kLost);
    for (int i = 0; i < kProbesToRecover - 1; ++i)
        health.on_probe(kCard, kAnswers);
    EXPECT_EQ(health.reason(kCard), "Xid 79");
    health.on_probe(kCard, kAnswers);
    EXPECT_EQ(health.reason(kCard), "");

    health.on_fault(kCard, 48);
    health.on_fault(kCard, 79);
    for (int i = 0; i < 2 * kProbesToRecover; ++i)
        health.on_probe(kCard, kAnswers);
    EXPECT_TRUE(health.reason(kCard).starts_with("Xid 48")) << health.reason(kCard);
}

// Goal: a card that does not answer is out, with the driver's own words, and in again when it
// answers.
TEST(GpuHealth, LostCard) {
    GpuHealth health;
    health.on_probe(kCard, kLost);
    EXPECT_EQ(health.reason(kCard), "the card does not answer: GPU is lost");
    health.on_probe(kCard, {.lost = "Unknown Error"});
    EXPECT_EQ(health.reason(kCard), "the card does not answer: Unknown Error");
    health.on_probe(kCard, kAnswers);
    EXPECT_EQ(health.reason(kCard), "");
}

// Goal: being lost for a while does not wash a fault away.
TEST(GpuHealth, FaultOutlivesALostCard) {
    GpuHealth health;
    health.on_fault(kCard, 79);
    health.on_probe(kCard, kLost);
    EXPECT_EQ(health.reason(kCard), "Xid 79");
    health.on_probe(kCard, kAnswers);
    EXPECT_EQ(health.reason(kCard), "Xid 79");

    health.on_probe(kOther, kLost);
    health.on_fault(kOther, 62);
    health.on_probe(kOther, kAnswers);
    EXPECT_TRUE(health.reason(kOther).starts_with("Xid 62"));
}

// Goal: what the driver itself asks for is a reason, until it asks no more.
TEST(GpuHealth, DriverAsksForRecovery) {
    GpuHealth health;
    health.on_probe(kCard, kNeedsRecovery);
    EXPECT_NE(health.reason(kCard).find("reset"), std::string::npos);
    health.on_probe(kCard, kRecovered);
    EXPECT_EQ(health.reason(kCard), "");
    health.on_probe(kCard, kLost);
    health.on_probe(kCard, kNeedsRecovery);
    EXPECT_NE(health.reason(kCard).find("reset"), std::string::npos);
}

// Goal: whatever the driver asks for takes the card out, in words of its own.
TEST(GpuHealth, EachRecoveryActionHasItsWords) {
    const std::pair<RecoveryAction, const char*> rows[] = {
        {RecoveryAction::reset, "a reset of the card"},
        {RecoveryAction::reboot, "a restart of the node"},
        {RecoveryAction::drain_peers, "those linked to it"},
        {RecoveryAction::drain_and_reset, "drain the card"},
        {RecoveryAction::other, "newer than this agent"}};
    for (const auto& [action, words] : rows) {
        GpuHealth health;
        health.on_probe(kCard, {.recovery = action});
        EXPECT_NE(health.reason(kCard).find(words), std::string::npos) << health.reason(kCard);
        health.on_probe(kCard, kAnswers);  // one answer that did not come
        EXPECT_NE(health.reason(kCard), "");
        health.on_probe(kCard, kRecovered);
        EXPECT_EQ(health.reason(kCard), "");
    }
}

// Goal: the driver decides whether an Xid takes the card out, whatever the list says of it.
TEST(GpuHealth, TheDriverJudgesAnXid) {
    GpuHealth health;
    health.on_fault(kCard, 94);  // contained: the driver wants nothing
    health.on_probe(kCard, kRecovered);
    EXPECT_EQ(health.reason(kCard), "");
    health.on_fault(kCard, 43);  // in the list
    health.on_probe(kCard, kNeedsRecovery);
    EXPECT_NE(health.reason(kCard).find("reset"), std::string::npos);
}

// Goal: a card that was faulty before the agent started is out, until a reset has repaired it. A
// driver that says what a card needs is asked no further, but for what no reset repairs.
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
            health.on_probe(kCard, {.recovery = recovery, .memory = row.memory});
            const std::string reason = health.reason(kCard);
            EXPECT_EQ(reason.empty(), words == nullptr) << reason;
            if (words != nullptr) {
                EXPECT_NE(reason.find(words), std::string::npos) << reason;
            }
            health.on_probe(kCard, {.recovery = recovery});
            EXPECT_EQ(health.reason(kCard), "") << "repaired";
        };
        expect(RecoveryAction::unknown, row.old_driver);
        expect(RecoveryAction::none, row.new_driver);
    }
}

}  // namespace
}  // namespace tessera
