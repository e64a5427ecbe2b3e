#include "adapters/nvml/nvml_inventory.hpp"

#include <gtest/gtest.h>

#include "gpusim/test_support/simulated_node.hpp"

namespace tessera {
namespace {

using std::chrono_literals::operator""ms;

constexpr char kCards[] =
    "cards:\n"
    "  - {model: Tesla T4, memory: 15360MiB, reserved: 360MiB, minor: 3}\n"
    "  - {model: NVIDIA A10, memory: 24GiB, minor: 1}\n"
    "  - {model: Tesla T4, memory: 15GiB, minor: 2}\n";

// Over the simulated driver. Each node has its own copy of the library, so each test begins anew.
class NvmlInventoryTest : public ::testing::Test {
  protected:
    explicit NvmlInventoryTest(const char* cards = kCards) : node_(cards) {}

    void open() {
        auto opened = open_nvml(node_.root().string());
        ASSERT_TRUE(opened) << opened.error().text;
        driver_ = *std::move(opened);
    }
    void control(const std::string& command) const { ASSERT_EQ(node_.control(command), 0); }
    GpuUuid uuid(std::size_t card) const { return GpuUuid(node_.cards()[card].uuid); }
    std::vector<GpuReading> read() {
        auto readings = driver_->read();
        if (readings) return *std::move(readings);
        ADD_FAILURE() << readings.error().text;
        return {};
    }
    // Of a card that is among the readings.
    GpuReading reading_of(std::size_t card) {
        for (GpuReading& reading : read()) {
            if (reading.uuid == uuid(card)) return reading;
        }
        ADD_FAILURE() << "card " << card << " is not there";
        return {};
    }
    // What the cards say in place of an answer, by their place in the node's list; "-" where a card
    // is not among the readings.
    std::vector<std::string> troubles() {
        std::vector<std::string> out(node_.cards().size(), "-");
        for (const GpuReading& reading : read()) {
            for (std::size_t i = 0; i < out.size(); ++i) {
                if (reading.uuid == uuid(i)) out[i] = reading.lost;
            }
        }
        return out;
    }
    // The next fault that is there already.
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

// Goal: a card's identity, size and place are the driver's; minor is not index.
TEST_F(NvmlInventoryTest, ReadsCards) {
    open();
    const auto cards = read();
    ASSERT_EQ(cards.size(), 3U);
    EXPECT_EQ(cards[0].uuid, uuid(0));
    EXPECT_EQ(cards[0].index, 0);
    EXPECT_EQ(cards[0].minor, 3);
    EXPECT_EQ(cards[0].model, "Tesla T4");
    EXPECT_EQ(cards[0].memory, gibibytes(15));
    EXPECT_EQ(cards[0].reserved, Bytes{360 * kMiB});
    EXPECT_EQ(cards[0].used, Bytes{}) << "the reserve is not in use";
    EXPECT_EQ(cards[0].lost, "");
    EXPECT_EQ(cards[0].recovery, RecoveryAction::none);
    EXPECT_EQ(cards[1].model, "NVIDIA A10");
}

class NvmlLinksTest : public NvmlInventoryTest {
  protected:
    NvmlLinksTest()
        : NvmlInventoryTest(
              "cards:\n"
              "  - {model: A, memory: 1GiB, numa: 0, pcie_switch: 0}\n"
              "  - {model: A, memory: 1GiB, numa: 0, pcie_switch: 0, nvlink: 3}\n"
              "  - {model: A, memory: 1GiB, numa: 1, nvlink: 3}\n") {}

    std::vector<CardLinks> links() {
        std::vector<CardLinks> out;
        for (const GpuReading& reading : read())
            out.push_back(reading.links);
        return out;
    }
    const std::vector<CardLinks> expected_ = {{.numa = 0, .pcie = 0b010, .nvlink = 0},
                                              {.numa = 0, .pcie = 0b001, .nvlink = 0b100},
                                              {.numa = 1, .pcie = 0, .nvlink = 0b010}};
};

// Goal: who is linked with whom is the driver's to say; a card that is lost later keeps its links.
TEST_F(NvmlLinksTest, AreReadAndKept) {
    open();
    EXPECT_EQ(links(), expected_);
    control("lose 1");
    EXPECT_EQ(links(), expected_);
}

// Goal: a card that comes later has its links, too.
TEST_F(NvmlLinksTest, ComeWithTheCard) {
    control("lose 1");
    open();
    EXPECT_EQ(read().size(), 2U);
    control("recover 1");
    EXPECT_EQ(links(), expected_);
}

// Goal: one card in trouble, whatever the driver says of it, leaves the others as they are; it
// keeps its name and is back when it answers.
TEST_F(NvmlInventoryTest, OneCardInTrouble) {
    open();
    const auto before = read();
    control("lose 1");
    EXPECT_EQ(troubles(), (Words{"", "GPU is lost", ""}));
    control("recover 1");
    control("fail 1");
    EXPECT_EQ(troubles(), (Words{"", "Unknown Error", ""}));
    EXPECT_EQ(reading_of(1).memory, before.at(1).memory);
    EXPECT_EQ(reading_of(1).recovery, RecoveryAction::unknown);
    control("recover 1");
    EXPECT_EQ(read(), before);
}

// Goal: a card that is broken at the start does not keep the node from its others. Once it says who
// it is, it is there, and its faults are heard.
TEST_F(NvmlInventoryTest, BrokenFromTheStart) {
    control("fail 0");
    control("lose 1");
    open();
    EXPECT_EQ(troubles(), (Words{"-", "-", ""}));
    EXPECT_EQ(fault(), std::nullopt);
    control("recover 0");
    EXPECT_EQ(troubles(), (Words{"", "-", ""}));
    EXPECT_EQ(fault(), std::nullopt);
    control("xid 0 48");
    EXPECT_EQ(fault(), (GpuFault{uuid(0), 48}));
}

// Goal: a fault is its card's, also of a card that no longer says who it is.
TEST_F(NvmlInventoryTest, FaultsNameTheirCard) {
    open();
    read();
    EXPECT_EQ(fault(), std::nullopt);
    control("xid 2 48");
    control("lose 1");
    EXPECT_EQ(fault(), (GpuFault{uuid(2), 48}));
    EXPECT_EQ(fault(), (GpuFault{uuid(1), 79}));
    EXPECT_EQ(reading_of(2).recovery, RecoveryAction::needed);
}

// Goal: a driver without the field that says what a card needs is told from one that needs nothing.
TEST_F(NvmlInventoryTest, OldDriver) {
    control("driver old");
    open();
    EXPECT_EQ(reading_of(0).recovery, RecoveryAction::unknown);
    EXPECT_EQ(reading_of(0).lost, "");
}

// Goal: a driver that fails every call is an error, and forgets no card.
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

// Goal: no driver, and a driver that does not come up, are errors that say where it was looked for.
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
