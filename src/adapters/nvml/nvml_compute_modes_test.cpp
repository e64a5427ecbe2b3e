#include "adapters/nvml/nvml_compute_modes.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "gpusim/test_support/child_process.hpp"
#include "gpusim/test_support/simulated_node.hpp"

namespace tessera {
namespace {

class NvmlComputeModesTest : public testing::Test {
  protected:
    gpusim::SimulatedNode node_{gpusim::kTwoGpus};
    std::unique_ptr<ComputeModes> modes_ =
        nvml_compute_modes(node_.root().string(), "install the driver");
    GpuUuid first_{node_.gpus()[0].uuid};
    GpuUuid second_{node_.gpus()[1].uuid};
};

// Goal: a mode is set on the GPU that is named, and what the driver has is read.
TEST_F(NvmlComputeModesTest, SetsAndReads) {
    EXPECT_EQ(modes_->get(first_).value(), ComputeMode::shared);
    ASSERT_TRUE(modes_->set(first_, ComputeMode::exclusive));
    EXPECT_EQ(modes_->get(first_).value(), ComputeMode::exclusive);
    EXPECT_EQ(modes_->get(second_).value(), ComputeMode::shared);
    ASSERT_TRUE(modes_->set(second_, ComputeMode::prohibited));
    EXPECT_EQ(modes_->get(second_).value(), ComputeMode::prohibited);
    ASSERT_TRUE(modes_->set(first_, ComputeMode::shared));
    EXPECT_EQ(modes_->get(first_).value(), ComputeMode::shared);
    ASSERT_EQ(node_.control("set 0 compute-mode exclusive-process"), 0);
    EXPECT_EQ(modes_->get(first_).value(), ComputeMode::exclusive);
}

TEST_F(NvmlComputeModesTest, SaysWhatIsWrong) {
    const auto unknown = modes_->get(GpuUuid("GPU-1"));
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, Code::not_found);
    EXPECT_EQ(unknown.error().text, "nvmlDeviceGetHandleByUUID: Not Found");
    const auto missing = nvml_compute_modes("/nonexistent", "install the driver")->get(first_);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Code::unavailable);
    EXPECT_NE(missing.error().text.find("install the driver"), std::string::npos);
}

// Goal: a driver that is loaded again answers.
TEST_F(NvmlComputeModesTest, SurvivesAReloadOfTheDriver) {
    ASSERT_TRUE(modes_->get(first_));
    ASSERT_EQ(node_.control("driver reload"), 0);
    EXPECT_TRUE(modes_->get(first_) || modes_->get(first_));
    EXPECT_EQ(modes_->get(first_).value(), ComputeMode::shared);
}

}  // namespace
}  // namespace tessera
