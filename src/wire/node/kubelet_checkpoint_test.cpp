#include "wire/node/kubelet_checkpoint.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr std::string_view kText =
    R"({"Data":{"PodDeviceEntries":[)"
    R"({"PodUID":"u-1","ContainerName":"main","ResourceName":"tessera.dev/gpu",)"
    R"("DeviceIDs":{"-1":["GPU-a-slot-0"],"0":["GPU-b-slot-1","GPU-a-slot-7"]},"AllocResp":"Kg=="},)"
    R"({"PodUID":"u-1","ContainerName":"prepare","ResourceName":"aliyun.com/gpu-mem",)"
    R"("DeviceIDs":{},"AllocResp":""}],)"
    R"("RegisteredDevices":{"tessera.dev/gpu":["GPU-a-slot-0"]}},"Checksum":123})";

// Goal: each container's devices are read, those of all NUMA nodes together.
TEST(KubeletCheckpoint, Entries) {
    const auto entries = read_kubelet_checkpoint(kText);
    ASSERT_TRUE(entries) << entries.error().text;
    ASSERT_EQ(entries->size(), 2U);
    EXPECT_EQ((*entries)[0], (CheckpointEntry{PodUid("u-1"),
                                              "main",
                                              "tessera.dev/gpu",
                                              {"GPU-a-slot-0", "GPU-a-slot-7", "GPU-b-slot-1"},
                                              "Kg=="}));
    EXPECT_EQ((*entries)[1].container, "prepare");
    EXPECT_TRUE((*entries)[1].ids.empty());
}

// Goal: before the first device is allocated there are no entries, and that is not an error.
TEST(KubeletCheckpoint, Empty) {
    for (const char* text : {R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}}})",
                             R"({"Data":{"PodDeviceEntries":[]}})", R"({"Data":{}})"}) {
        const auto entries = read_kubelet_checkpoint(text);
        ASSERT_TRUE(entries) << text;
        EXPECT_TRUE(entries->empty());
    }
}

// Goal: an unknown form is distinguished from broken text; nothing is guessed.
TEST(KubeletCheckpoint, Refuses) {
    struct Case {
        const char* text;
        Code code;
    };
    const std::vector<Case> cases = {
        {"", Code::invalid_argument},
        {"{", Code::invalid_argument},
        {"{}", Code::unsupported},
        {"[]", Code::unsupported},
        {R"({"Data":[]})", Code::unsupported},
        {R"({"Data":{"PodDeviceEntries":{}}})", Code::unsupported},
        {R"({"Data":{"PodDeviceEntries":[7]}})", Code::unsupported},
        {R"({"Data":{"PodDeviceEntries":[{"ContainerName":"c","DeviceIDs":{}}]}})",
         Code::unsupported},
        {R"({"Data":{"PodDeviceEntries":[{"PodUID":"u","DeviceIDs":{}}]}})", Code::unsupported},
        {R"({"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c","DeviceIDs":["a"]}]}})",
         Code::unsupported},
        {R"({"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c"}]}})",
         Code::unsupported},
    };
    for (const Case& c : cases) {
        const auto entries = read_kubelet_checkpoint(c.text);
        ASSERT_FALSE(entries) << c.text;
        EXPECT_EQ(entries.error().code, c.code) << c.text;
        EXPECT_TRUE(entries.error().text.starts_with("kubelet's checkpoint: "));
    }
    for (std::size_t size = 0; size < kText.size(); ++size)
        ASSERT_FALSE(read_kubelet_checkpoint(kText.substr(0, size))) << size;
}

}  // namespace
}  // namespace tessera
