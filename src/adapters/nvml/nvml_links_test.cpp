#include "adapters/nvml/nvml_links.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace tessera {
namespace {

int asked = 0;
nvmlReturn_t answer = NVML_SUCCESS;
nvmlGpuP2PStatus_t link = NVML_P2P_STATUS_OK;

nvmlReturn_t status(nvmlDevice_t, nvmlDevice_t, nvmlGpuP2PCapsIndex_t, nvmlGpuP2PStatus_t* out) {
    ++asked;
    *out = link;
    return answer;
}

// Two GPUs with an NVML that reports nothing but NVLink.
class LinkReaderTest : public testing::Test {
  protected:
    LinkReaderTest() {
        asked = 0;
        nvml_.nvmlDeviceGetP2PStatus = status;
        readings_[1].index = 1;
    }
    std::uint64_t peers_of_first() {
        reader_->read(devices_, readings_);
        return readings_[0].links.nvlink;
    }

    Nvml nvml_;
    std::optional<LinkReader> reader_{nvml_};
    std::array<int, 2> gpus_{};
    std::array<nvmlDevice_t, 2> devices_{reinterpret_cast<nvmlDevice_t>(&gpus_[0]),
                                         reinterpret_cast<nvmlDevice_t>(&gpus_[1])};
    std::vector<GpuReading> readings_ = std::vector<GpuReading>(2);
};

// Goal: a link that is not up yet is found later, and a known link is not queried again.
TEST_F(LinkReaderTest, WaitsForLinks) {
    for (const auto& [now, not_yet] : {std::pair(NVML_SUCCESS, NVML_P2P_STATUS_NOT_SUPPORTED),
                                       std::pair(NVML_SUCCESS, NVML_P2P_STATUS_UNKNOWN),
                                       std::pair(NVML_ERROR_UNKNOWN, NVML_P2P_STATUS_OK)}) {
        reader_.emplace(nvml_);
        answer = now;
        link = not_yet;
        EXPECT_EQ(peers_of_first(), 0U);
        answer = NVML_SUCCESS;
        link = NVML_P2P_STATUS_OK;
        int readings = 1;
        while (peers_of_first() == 0 && readings < 100)
            ++readings;
        EXPECT_EQ(readings, LinkReader::kReadingsBetween);
        answer = NVML_ERROR_GPU_IS_LOST;
        for (int i = 0; i < 2 * LinkReader::kReadingsBetween; ++i)
            EXPECT_EQ(peers_of_first(), 0b10U);
    }
}

TEST_F(LinkReaderTest, AnOldDriverTellsNothing) {
    nvml_.nvmlDeviceGetP2PStatus = nullptr;
    EXPECT_EQ(peers_of_first(), 0U);
    EXPECT_EQ(readings_[0].links, GpuLinks{});
    EXPECT_EQ(asked, 0);
}

}  // namespace
}  // namespace tessera
