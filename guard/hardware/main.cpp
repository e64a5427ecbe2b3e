// The guard's own suite against the driver of this machine, part by part; `run` calls it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "guard/hardware/arbitrated.hpp"
#include "guard/hardware/figures.hpp"
#include "guard/hardware/machine.hpp"

namespace tessera::guard {

// By cuMemAlloc of the driver that is named, in MiB; memory.cpp.
double take_what_there_is();

namespace {

constexpr struct {
    const char* name;
    void (*run)(Figures& figures);
} kParts[] = {
    {"memory", check_memory},
    {"questions", answer_questions},
    {"costs", check_costs},
    {"shares", check_shares},
};

int usage() {
    std::fprintf(stderr,
                 "usage: guard_hardware LIBCUDA [--quick] memory|questions|costs|shares\n"
                 "       guard_hardware LIBCUDA hold MEMORY_MIB PERCENT...\n");
    return 2;
}

// Containers for other programs, until stdin ends: a line for each with its directory.
int hold(int count, char** arguments) {
    std::vector<Percents> shares;
    for (int i = 1; i < count; i++) {
        const auto percent = static_cast<unsigned>(std::strtoul(arguments[i], nullptr, 10));
        shares.push_back({percent, percent});
    }
    const ArbitratedCard card(shares, std::strtoull(arguments[0], nullptr, 10) << 20);
    for (std::size_t i = 0; i < shares.size(); i++)
        std::printf("%s\n", card.container(i).region().directory().c_str());
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
    return 0;
}

int run_part(const char* name, bool is_quick) {
    for (const auto& part : kParts) {
        if (std::strcmp(part.name, name) != 0) continue;
        Figures figures(is_quick);
        try {
            part.run(figures);
        } catch (const std::exception& error) {
            figures.judged(name, "to its end", error.what(), false);
        }
        return figures.all_hold() ? 0 : 1;
    }
    return usage();
}

}  // namespace
}  // namespace tessera::guard

int main(int argc, char** argv) {
    if (argc < 3) return tessera::guard::usage();
    tessera::guard::set_driver(argv[1]);
    if (std::strcmp(argv[2], "hold") == 0 && argc > 4)
        return tessera::guard::hold(argc - 3, argv + 3);
    const char* part = argv[argc - 1];
    if (std::strcmp(part, "take") == 0) {
        std::printf("%.0f\n", tessera::guard::take_what_there_is());
        return 0;
    }
    return tessera::guard::run_part(part, argc > 3 && std::strcmp(argv[2], "--quick") == 0);
}
