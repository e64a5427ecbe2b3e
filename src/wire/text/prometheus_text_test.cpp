#include "wire/text/prometheus_text.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

struct Row {
    const char* text;
    std::int64_t milli;  // -1: not_found; -2: corrupt
};

// Goal: the sum over labels, of exactly this metric. Method: a table.
TEST(PrometheusText, Sums) {
    const std::vector<Row> rows = {
        {"# HELP n requests\n# TYPE n counter\nn 4\n", 4'000},
        {"n{a=\"b\"} 4\nn{a=\"c\"} 2.5\n", 6'500},
        {"n{a=\"}\\\"\"} 1 1700000000000\r\nn\t2\n", 3'000},
        {" n {a=\"b\"} 1e+03\n", 1'000'000},
        {"n 0", 0},
        {"n +7\n", 7'000},
        {"m 1\nn_total 2\nnn 3\n# n 4\n", -1},
        {"", -1},
        {"n", -1},
        {"m{x=\"n 1\"} 5", -1},
        {"n 1\nm rubbish\n", 1'000},
        {"n \n", -2},
        {"n x\n", -2},
        {"n -1\n", -2},
        {"n 1x\n", -2},
        {"n NaN\n", -2},
        {"n +Inf\n", -2},
        {"n 1e13\n", -2},
        {"n 1e999\n", -2},
        {"n 9e11\nn 9e11\n", -2},
        {"n{a=\"b\" 1\n", -2},
        {"n{a=\"b\\", -2},
        {"n 1\nn{} \n", -2},
    };
    for (const Row& row : rows) {
        const auto sum = sum_of_counter(row.text, "n");
        const std::int64_t got = sum ? *sum : sum.error().code == Code::not_found ? -1 : -2;
        EXPECT_EQ(got, row.milli) << row.text;
    }
    EXPECT_EQ(sum_of_counter(":tensorflow:serving:request_count{model_name=\"half\","
                             "status=\"OK\"} 12\n",
                             ":tensorflow:serving:request_count")
                  .value(),
              12'000);
}

}  // namespace
}  // namespace tessera
