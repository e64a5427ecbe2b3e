// Goal: a mistake in gpus.yaml is rejected with its field and line. Method: tables.
#include "gpusim/ctl/gpus_file.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

namespace gpusim {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

tl::expected<std::vector<GpuSpec>, std::string> parse(const std::string& text) {
    return parse_gpus({text, "f.yaml", ""});
}

constexpr char kUuid[] = "GPU-01234567-89ab-cdef-0123-456789abcdef";

TEST(GpusFile, ReadsEveryField) {
    const auto gpus =
        parse(std::string("gpus:\n"
                          "  - model: Tesla T4\n"
                          "    memory: 16276MiB\n"
                          "    reserved: 450MiB\n"
                          "    uuid: GPU-01234567-89AB-cdef-0123-456789abcdef\n"
                          "    minor: 3\n"
                          "    pci_bus_id: 0001:3b:02.0\n"
                          "    compute_capability: 8.9\n"
                          "    multiprocessors: 188\n"
                          "    context_overhead: 300MiB\n"));
    ASSERT_TRUE(gpus) << gpus.error();
    ASSERT_EQ(gpus->size(), 1U);
    const GpuSpec& gpu = gpus->front();
    EXPECT_EQ(gpu.model, "Tesla T4");
    EXPECT_EQ(gpu.memory_bytes, std::uint64_t{16276} << 20);
    EXPECT_EQ(gpu.reserved_bytes, std::uint64_t{450} << 20);
    EXPECT_EQ(gpu.uuid, kUuid);
    EXPECT_EQ(gpu.minor, 3U);
    EXPECT_EQ(gpu.pci_domain, 1U);
    EXPECT_EQ(gpu.pci_bus, 0x3bU);
    EXPECT_EQ(gpu.pci_device, 2U);
    EXPECT_EQ(gpu.multiprocessors, 188U);
    EXPECT_EQ(gpu.compute_major, 8);
    EXPECT_EQ(gpu.compute_minor, 9);
    EXPECT_EQ(gpu.context_overhead_bytes, std::uint64_t{300} << 20);
}

TEST(GpusFile, KnowsTheMultiprocessorsOfModels) {
    for (const auto& [model, count] :
         {std::pair("Tesla T4", 40U), std::pair("NVIDIA H100 80GB HBM3", 132U),
          std::pair("NVIDIA A100-SXM4-40GB", 108U), std::pair("NVIDIA L40S", 142U),
          std::pair("NVIDIA L4", 58U), std::pair("Other", 40U)}) {
        const auto gpus = parse("gpus: [{memory: 1GiB, model: " + std::string(model) + "}]\n");
        ASSERT_TRUE(gpus) << gpus.error();
        EXPECT_EQ((*gpus)[0].multiprocessors, count) << model;
    }
    EXPECT_FALSE(parse("gpus: [{memory: 1GiB, model: A, multiprocessors: 0}]\n"));
}

TEST(GpusFile, FillsInWhatIsLeftOut) {
    const std::string text = "gpus: [{model: A, memory: 1GiB}, {model: B, memory: 2GiB}]\n";
    const auto gpus = parse(text);
    ASSERT_TRUE(gpus) << gpus.error();
    EXPECT_EQ((*gpus)[1].minor, 1U);
    EXPECT_EQ((*gpus)[1].pci_bus, 17U);
    EXPECT_EQ((*gpus)[1].reserved_bytes, 0U);
    EXPECT_EQ((*gpus)[1].context_overhead_bytes, 0U);
    EXPECT_NE((*gpus)[0].uuid, (*gpus)[1].uuid);
    EXPECT_EQ((*gpus)[0].uuid, (*parse(text))[0].uuid) << "generated UUIDs do not change";
    EXPECT_NE((*gpus)[0].uuid, (*parse("seed: other\n" + text))[0].uuid);
    EXPECT_EQ((*parse("seed: other\n" + text))[0].uuid,
              (*parse_gpus({text, "f.yaml", "other"}))[0].uuid);
}

TEST(GpusFile, Links) {
    const auto gpus = parse(
        "gpus:\n  - {model: A, memory: 1GiB, numa: 1, pcie_switch: 2, nvlink: 0}\n"
        "  - {model: A, memory: 1GiB}\n");
    ASSERT_TRUE(gpus) << gpus.error();
    EXPECT_EQ((*gpus)[0].numa, 1U);
    EXPECT_EQ((*gpus)[0].pcie_switch, 2U);
    EXPECT_EQ((*gpus)[0].nvlink, 0U);
    EXPECT_EQ((*gpus)[1].numa, 0U);
    EXPECT_EQ((*gpus)[1].pcie_switch, kNone);
    EXPECT_EQ((*gpus)[1].nvlink, kNone);
}

TEST(GpusFile, TimeSlices) {
    const struct {
        const char* keys;
        std::int64_t time_slice_ns;
        std::int64_t switch_ns;
    } rows[] = {
        {"", 0, 0},
        {", time_slice: 0", 0, 0},
        {", time_slice: 0ms, switch_time: 0", 0, 0},
        {", time_slice: 2ms", 2'000'000, 0},
        {", switch_time: 270us, time_slice: 2ms", 2'000'000, 270'000},
        {", time_slice: 10us, switch_time: 1ns", 10'000, 1},
        {", time_slice: 10s, switch_time: 10000000000ns", 10'000'000'000, 10'000'000'000},
    };
    for (const auto& row : rows) {
        const auto gpus = parse(std::string("gpus: [{model: A, memory: 1GiB") + row.keys + "}]\n");
        ASSERT_TRUE(gpus) << gpus.error();
        EXPECT_EQ(gpus->front().time_slice_ns, row.time_slice_ns) << row.keys;
        EXPECT_EQ(gpus->front().switch_ns, row.switch_ns) << row.keys;
    }
}

TEST(GpusFile, RefusesByFieldAndLine) {
    const std::string two = "gpus:\n  - {model: A, memory: 1GiB, ";
    const std::string more = "}\n  - {model: B, memory: 1GiB, ";
    std::string many = "gpus:\n";
    for (int i = 0; i < 65; i++)
        many += "  - {model: A, memory: 1GiB}\n";
    const struct {
        std::string text;
        std::string message;
    } rows[] = {
        {"", "f.yaml:1: gpus: is missing"},
        {"[1]", "f.yaml:1: gpus: is missing"},
        {"seed: x\n", "f.yaml:1: gpus: is missing"},
        {"gpus:\n", "gpus: must have at least one GPU"},
        {"gpus: []\n", "f.yaml:1: gpus: must have at least one GPU"},
        {"gpus: {a: b}\n", "f.yaml:1: gpus: must have at least one GPU"},
        {"gpus: [7]\n", "f.yaml:1: gpus: must be a list of maps"},
        {"\ngpus: [{model: A, memory: 1GiB}]\ncolour: 1\n", "f.yaml:3: colour: unknown key"},
        {"\ngpus: [{model: A, memory: 1GiB}]\ngpus: 1\n", "f.yaml:3: gpus: appears twice"},
        {many, "gpus: 65 GPUs, at most 64"},
        {"gpus:\n  - model: A\n", "f.yaml:2: memory: is missing"},
        {"gpus:\n  - memory: 1GiB\n", "f.yaml:2: model: is missing"},
        {"gpus:\n  - model: A\n    memory: 1GB\n", "f.yaml:3: memory: \"1GB\" is not a size"},
        {"gpus:\n  - model: A\n    memory: -1\n", "f.yaml:3: memory: \"-1\" is not a size"},
        {"gpus:\n  - model: A\n    memory: 0\n", "f.yaml:3: memory: is zero"},
        {"gpus:\n  - model: A\n    memory: [1]\n", "f.yaml:3: memory: must be one plain value"},
        {"gpus:\n  - model: ''\n    memory: 1\n", "f.yaml:2: model: must be one plain value"},
        {"gpus:\n  - model: " + std::string(96, 'x') + "\n    memory: 1\n", "model: is too long"},
        {"gpus:\n  - model: A\n    memory: 1GiB\n    colour: red\n",
         "f.yaml:4: colour: unknown key"},
        {"gpus:\n  - model: A\n    memory: 1GiB\n    memory: 2GiB\n",
         "f.yaml:4: memory: appears twice"},
        {two + "reserved: 1GiB}", "f.yaml:2: reserved: leaves no memory"},
        {two + "uuid: GPU-1}", "f.yaml:2: uuid: \"GPU-1\" is not like GPU-xxxxxxxx"},
        {two + "uuid: GPU-g1234567-89ab-cdef-0123-456789abcdef}", "uuid: \"GPU-g"},
        {two + "uuid: " + kUuid + more + "uuid: " + kUuid + "}",
         "f.yaml:3: uuid: another GPU has GPU-0"},
        {two + "minor: 1" + more + "}", "f.yaml:3: minor: another GPU has 1"},
        {two + "minor: 1" + more + "minor: 1}", "f.yaml:3: minor: another GPU has 1"},
        {two + "minor: 256}", "minor: \"256\" is not a number from 0 to 255"},
        {two + "minor: -1}", "minor: \"-1\" is not a number"},
        {two + "minor: 1x}", "minor: \"1x\" is not a number"},
        {two + "numa: 64}", "numa: \"64\" is not a number from 0 to 63"},
        {two + "pcie_switch: a}", "pcie_switch: \"a\" is not a number from 0 to 255"},
        {two + "nvlink: [0, 1]}", "nvlink: must be one plain value"},
        {two + "event_clock_fast_ppm: 10000}", "\"10000\" is not a number from 0 to 9999"},
        {two + "pci_bus_id: '17'}", "pci_bus_id: \"17\" is not like 0000:17:00.0"},
        {two + "pci_bus_id: '0000:11:00.0'" + more + "}", "f.yaml:3: pci_bus_id: another GPU has"},
        {two + "compute_capability: seven}", "compute_capability: \"seven\" is not like 7.5"},
        {two + "context_overhead: lots}", "context_overhead: \"lots\" is not a size"},
        {"gpus: [", "f.yaml:"},
    };
    for (const auto& row : rows) {
        const auto gpus = parse(row.text);
        ASSERT_FALSE(gpus) << row.text;
        EXPECT_THAT(gpus.error(), StartsWith("f.yaml:")) << row.text;
        EXPECT_THAT(gpus.error(), HasSubstr(row.message)) << row.text;
    }
}

TEST(GpusFile, RefusesWhatIsNoTimeSlice) {
    const struct {
        const char* keys;
        const char* message;
    } rows[] = {
        {"time_slice: 2",
         "f.yaml:2: time_slice: \"2\" is not a duration from 10us to 10s, or 0 (try 2ms or 270us)"},
        {"time_slice: ms", "time_slice: \"ms\" is not a duration"},
        {"time_slice: -2ms", "time_slice: \"-2ms\" is not a duration"},
        {"time_slice: 2 ms", "time_slice: \"2 ms\" is not a duration"},
        {"time_slice: 2.5ms", "time_slice: \"2.5ms\" is not a duration"},
        {"time_slice: 2min", "time_slice: \"2min\" is not a duration"},
        {"time_slice: 9999ns", "time_slice: \"9999ns\" is not a duration from 10us to"},
        {"time_slice: 11s", "time_slice: \"11s\" is not a duration"},
        {"time_slice: 99999999999999999999s", "s\" is not a duration"},
        {"time_slice: [2ms]", "time_slice: must be one plain value"},
        {"time_slice: 2ms, switch_time: 10001ms",
         "switch_time: \"10001ms\" is not a duration from 0us to 10s, or 0"},
        {"switch_time: 270us", "f.yaml:2: switch_time: needs time_slice: add it (2ms)"},
        {"time_slice: 2ms, switch_time: 2001us",
         "f.yaml:2: switch_time: is longer than time_slice"},
    };
    for (const auto& row : rows) {
        const auto gpus =
            parse(std::string("gpus:\n  - {model: A, memory: 1GiB, ") + row.keys + "}");
        ASSERT_FALSE(gpus) << row.keys;
        EXPECT_THAT(gpus.error(), HasSubstr(row.message)) << row.keys;
    }
}

TEST(GpusFile, SamplesAreGood) {
    const struct {
        const char* name;
        std::size_t count;
    } samples[] = {{"two-15gib.yaml", 2},
                   {"15-and-24gib.yaml", 2},
                   {"eight-80gib.yaml", 8},
                   {"four-in-pairs.yaml", 4}};
    for (const auto& sample : samples) {
        std::ifstream in(std::string(TESSERA_SOURCE_DIR "/gpusim/gpus/") + sample.name);
        const auto gpus = parse(std::string{std::istreambuf_iterator<char>(in), {}});
        ASSERT_TRUE(gpus) << sample.name << ": " << gpus.error();
        EXPECT_EQ(gpus->size(), sample.count) << sample.name;
    }
}

}  // namespace
}  // namespace gpusim
