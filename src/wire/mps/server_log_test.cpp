#include "wire/mps/server_log.hpp"

#include <gtest/gtest.h>

namespace tessera::mps {
namespace {

using Pids = std::vector<std::int64_t>;

TEST(ServerLog, NamesProcessesWithFatalErrors) {
    const struct {
        const char* text;
        Pids pids;
    } rows[] = {
        {"", {}},
        {"[2026-11-29 12:00:00.000 Other   17] Client process 4711 encountered a fatal GPU "
         "error.\n",
         {4711}},
        {"[a] Client process 7 encountered a fatal GPU error.\n[a] Client 7 disconnected\n"
         "[a] Client process 8 encountered a fatal GPU error.",
         {7, 8}},
        {"Client process 7 encountered a fatal GPU error.\n", {}},  // a line without its time
        {"[a] Client process 7 connected\n", {}},
        {"[2026-11-29 12:00:00.000 Control 9] Cmd:Client process 7 encountered a fatal GPU "
         "error.\n",
         {}},
        {"[", {}},
        {"[]", {}},
        {"[a] Client process -7 encountered a fatal GPU error.\n", {}},
        {"[a] Client process 99999999999999999999 encountered a fatal GPU error.\n", {}},
        {"[a] Client process \n encountered a fatal GPU error.\n", {}},
        {"[a] Server is handling a fatal GPU error.\n", {}},
    };
    for (const auto& [text, pids] : rows)
        EXPECT_EQ(faulted_clients(text), pids) << text;
}

}  // namespace
}  // namespace tessera::mps
