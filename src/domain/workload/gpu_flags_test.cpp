#include "domain/workload/gpu_flags.hpp"

#include <gtest/gtest.h>

namespace tessera::workload {
namespace {

TEST(GpuFlags, Memory) {
    for (const auto& [text, bytes] : std::vector<std::pair<std::string, Bytes>>{
             {"3", gibibytes(3)},
             {"3Gi", gibibytes(3)},
             {"3072Mi", gibibytes(3)},
             {"1.5Gi", mebibytes(1536)},
             {"3221225472", {0}},
             {"0", {0}},
             {"2G", {2'000'000'000}},
         }) {
        const auto read = parse_gpu_memory(text);
        if (bytes.count == 0 && text != "0") {
            EXPECT_FALSE(read) << text;
            continue;
        }
        ASSERT_TRUE(read) << text << ": " << read.error().text;
        EXPECT_EQ(*read, bytes) << text;
    }
}

// Goal: an amount that cannot be meant is refused, and the text names the flag and a form that
// works.
TEST(GpuFlags, MemoryThatIsRefused) {
    for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
             {"", "--gpumemory: "},
             {"three", "--gpumemory: "},
             {"-1", "--gpumemory: "},
             {"2000000", "for MiB write 2000000Mi"},
             {"2000000Ti", "more than any GPU has"},
             {"1Mi", "is less than 2Mi; write an amount such as 3Gi"},
             {"99999999999999999999", "--gpumemory: "},
         }) {
        const auto read = parse_gpu_memory(text);
        ASSERT_FALSE(read) << text;
        EXPECT_EQ(read.error().code, Code::invalid_argument);
        EXPECT_NE(read.error().text.find(part), std::string::npos) << read.error().text;
    }
}

TEST(GpuFlags, Together) {
    EXPECT_EQ(read_gpu_flags({.gpumemory = "3", .gpucore = 25}),
              (Gpus{.memory = gibibytes(3), .cores = {25}}));
    EXPECT_EQ(read_gpu_flags({.gpus = 2}), (Gpus{.whole = 2}));
    EXPECT_EQ(read_gpu_flags({}), Gpus{});
    EXPECT_EQ(read_gpu_flags({.gpus = 1, .gpumemory = "0"}), (Gpus{.whole = 1}));
    for (const auto& [flags, part] : std::vector<std::pair<GpuFlags, std::string>>{
             {{.gpus = 1, .gpumemory = "3"}, "--gpus: cannot be used with --gpumemory"},
             {{.gpus = 1, .gpucore = 5}, "--gpus: cannot be used with --gpucore"},
             {{.gpucore = 5}, "--gpucore: needs --gpumemory"},
             {{.gpumemory = "3", .gpucore = 101}, "--gpucore: 101 is not a percentage"},
             {{.gpus = 65}, "--gpus: 65 is not a number from 0 to 64"},
         }) {
        const auto read = read_gpu_flags(flags);
        ASSERT_FALSE(read) << part;
        EXPECT_NE(read.error().text.find(part), std::string::npos) << read.error().text;
    }
}

}  // namespace
}  // namespace tessera::workload
