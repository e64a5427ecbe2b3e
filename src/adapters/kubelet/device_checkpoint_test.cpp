#include "adapters/kubelet/device_checkpoint.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tessera {
namespace {

class CheckpointTest : public ::testing::Test {
  protected:
    CheckpointTest() { std::filesystem::create_directories(folder_); }
    ~CheckpointTest() override { std::filesystem::remove_all(folder_); }
    void write(const std::string& text) const {
        std::ofstream(folder_ / "kubelet_internal_checkpoint") << text;
    }
    Result<std::vector<DeviceHolder>> list() const {
        return make_device_checkpoint(folder_.string())->list();
    }
    const std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("tessera-checkpoint-" + std::to_string(getpid()));
};

// Goal: which container has which devices, with the CDI devices of our own answer to Allocate.
// Method: an answer as kubelet stores it: field 5 (cdi_devices) with name "tessera.dev/share=ab",
// in base64.
TEST_F(CheckpointTest, Holders) {
    write(R"({"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c",)"
          R"("ResourceName":"tessera.dev/gpu","DeviceIDs":{"0":["d0"]},)"
          R"("AllocResp":"KhYKFHRlc3NlcmEuZGV2L3NoYXJlPWFi"},)"
          R"({"PodUID":"v","ContainerName":"c","ResourceName":"x","DeviceIDs":{},)"
          R"("AllocResp":"rubbish"}]}})");
    const auto holders = list();
    ASSERT_TRUE(holders) << holders.error().text;
    ASSERT_EQ(holders->size(), 2U);
    EXPECT_EQ(
        (*holders)[0],
        (DeviceHolder{PodUid("u"), "c", "tessera.dev/gpu", {"d0"}, {"tessera.dev/share=ab"}}));
    EXPECT_TRUE((*holders)[1].cdi_devices.empty());
}

// Goal: devices that gpushare's plugin assigned are recognised by its environment. Method: an
// answer as kubelet stores it: field 1 (envs) with ALIYUN_COM_GPU_MEM_IDX, in base64.
TEST_F(CheckpointTest, HandedOverByGpushare) {
    write(R"({"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c",)"
          R"("ResourceName":"aliyun.com/gpu-mem","DeviceIDs":{"-1":["d0"]},)"
          R"("AllocResp":"ChsKFkFMSVlVTl9DT01fR1BVX01FTV9JRFgSATE="},)"
          R"({"PodUID":"v","ContainerName":"c","ResourceName":"aliyun.com/gpu-mem",)"
          R"("DeviceIDs":{"-1":["d1"]},"AllocResp":""}]}})");
    const auto holders = list();
    ASSERT_TRUE(holders) << holders.error().text;
    EXPECT_TRUE(holders->at(0).by_former_plugin);
    EXPECT_FALSE(holders->at(1).by_former_plugin);
}

// Goal: half a file, another form and an unreadable file are errors; none of them means "no devices
// are assigned". Method: a link to itself cannot be read by any user.
TEST_F(CheckpointTest, Errors) {
    write(R"({"Data":{"PodDev)");
    EXPECT_EQ(list().error().code, Code::invalid_argument);
    write(R"({"Something":"else"})");
    EXPECT_EQ(list().error().code, Code::unsupported);
    write("");
    EXPECT_FALSE(list());
    std::filesystem::remove(folder_ / "kubelet_internal_checkpoint");
    std::filesystem::create_symlink("kubelet_internal_checkpoint",
                                    folder_ / "kubelet_internal_checkpoint");
    EXPECT_EQ(list().error().code, Code::unavailable);
}

// Goal: a new node, on which kubelet has assigned no device yet, has no file; the list is empty.
TEST_F(CheckpointTest, NoFileYet) {
    ASSERT_TRUE(list());
    EXPECT_TRUE(list()->empty());
}

}  // namespace
}  // namespace tessera
