#include "wire/mps/mps_probe_json.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr const char* kProbe =
    R"({"version":1,"deviceMultiprocessors":32,"usedMultiprocessors":30,"blocksPerSecond":32000,)"
    R"("totalBytes":3221225472,"freeBytes":2147483648,"limited":true)";

TEST(MpsProbeJson, Reads) {
    const auto probe = read_mps_probe(std::string(kProbe) + "}\n");
    ASSERT_TRUE(probe) << probe.error().text;
    EXPECT_EQ(*probe, (MpsProbe{.device_multiprocessors = 32,
                                .used_multiprocessors = 30,
                                .blocks_per_s = 32'000,
                                .total = gibibytes(3),
                                .free = gibibytes(2),
                                .is_limited = true}));
    EXPECT_EQ(read_mps_probe(std::string(kProbe) + R"(,"filledBytes":1073741824})")->filled,
              gibibytes(1));
}

TEST(MpsProbeJson, RefusesOtherTexts) {
    struct Row {
        std::string text;
        Code code;
        const char* found;
    };
    for (const Row& row :
         {Row{"", Code::invalid_argument, ""},
          {"sh: not found", Code::invalid_argument, ""},
          {"{}", Code::invalid_argument, "version: missing"},
          {R"({"version":2})", Code::unsupported, "version: 2"},
          {R"({"version":1,"error":"cuInit: CUDA_ERROR_NO_DEVICE (100): none"})", Code::conflict,
           "cuInit: CUDA_ERROR_NO_DEVICE"},
          {R"({"version":1,"deviceMultiprocessors":5000})", Code::invalid_argument,
           "deviceMultiprocessors"},
          {std::string(kProbe) + R"(,"filledBytes":-1})", Code::invalid_argument, "filledBytes"},
          {std::string(kProbe) + R"(,"filledBytes":9007199254740992})", Code::invalid_argument,
           "filledBytes"}}) {
        const auto probe = read_mps_probe(row.text);
        ASSERT_FALSE(probe) << row.text;
        EXPECT_EQ(probe.error().code, row.code) << row.text;
        EXPECT_NE(probe.error().text.find(row.found), std::string::npos) << probe.error().text;
    }
}

}  // namespace
}  // namespace tessera
