#include "programs/common/run_program.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace tessera {
namespace {

// A program whose body only runs `work` on another thread.
void run(void (*work)()) {
    char name[] = "program";
    char* words[] = {name, nullptr};
    run_program(
        {.name = "program", .summary = "", .rows = {}}, 1, words,
        [](const ConfigValues&) { return Result<>(); },
        [work](const ConfigValues&, const std::stop_token&) {
            std::jthread(work).join();
            return Result<>();
        });
}

// Goal: an exception that ends the process, on any of its threads, is logged with its text.
TEST(RunProgramDeathTest, NamesAnExceptionThatEndsTheProcess) {
    EXPECT_DEATH(run([] { throw std::runtime_error("boom"); }),
                 R"("event":"failed","reason":"internal error: boom")");
    EXPECT_DEATH(run([] { throw 7; }), "an exception of an unknown type");
    EXPECT_DEATH(run([] { std::terminate(); }), "without an exception");
}

}  // namespace
}  // namespace tessera
