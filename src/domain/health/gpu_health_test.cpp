#include "domain/health/gpu_health.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

const GpuUuid kCard("GPU-a");
const GpuUuid kOther("GPU-b");
constexpr GpuProbe kAnswers{};
constexpr GpuProbe kLost{.lost = true};
constexpr GpuProbe kNeedsRecovery{.needs_recovery = true};
constexpr GpuProbe kRecovered{.recovered = true};

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

// Goal: a fault is remembered until the driver says that the card is good. Method: a driver that
// cannot say so never does.
TEST(GpuHealth, FaultIsRemembered) {
    GpuHealth health;
    health.on_fault(kCard, 79);
    health.on_probe(kCard, kAnswers);
    EXPECT_EQ(health.reason(kCard), "Xid 79");
    health.on_probe(kCard, kNeedsRecovery);
    EXPECT_EQ(health.reason(kCard), "Xid 79");
    health.on_probe(kOther, kRecovered);
    EXPECT_EQ(health.reason(kCard), "Xid 79");
    health.on_probe(kCard, kRecovered);
    EXPECT_EQ(health.reason(kCard), "");
}

// Goal: a card that does not answer is out, and in again when it answers.
TEST(GpuHealth, LostCard) {
    GpuHealth health;
    health.on_probe(kCard, kLost);
    EXPECT_NE(health.reason(kCard).find("does not answer"), std::string::npos);
    health.on_probe(kCard, kAnswers);
    EXPECT_EQ(health.reason(kCard), "");
}

// Goal: being lost for a while does not wash a fault away.
TEST(GpuHealth, FaultOutlivesALostCard) {
    GpuHealth health;
    health.on_fault(kCard, 79);
    health.on_probe(kCard, kLost);
    EXPECT_NE(health.reason(kCard), "");
    health.on_probe(kCard, kAnswers);
    EXPECT_EQ(health.reason(kCard), "Xid 79");

    health.on_probe(kOther, kLost);
    health.on_fault(kOther, 62);
    health.on_probe(kOther, kAnswers);
    EXPECT_EQ(health.reason(kOther), "Xid 62");
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

}  // namespace
}  // namespace tessera
